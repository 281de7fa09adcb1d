// What the server says has changed, what it is about, and whether it can be reached.
import { get } from "./api.js";
import { follow, opening } from "./stream.js";
import { effect, signal } from "./ui.js";

/** How the line to the server is. @type {import("./ui.js").Sig<import("./stream.js").Line>} */
export const line = signal(/** @type {import("./stream.js").Line} */ ("opening"));
/** @type {import("./ui.js").Sig<any>} */
export const about = signal(null);
/** @type {import("./ui.js").Sig<any[]>} */
export const pending = signal(/** @type {any[]} */ ([]));

/** @typedef {{about: (name: string) => boolean, act: () => void}} Listener */
/** @type {Set<Listener>} */
const listeners = new Set();

/**
 * Calls `act` now, when a stream that it is about has gone on, and after each time the line was lost.
 * @param {(name: string) => boolean} isAbout @param {() => void} act
 */
export function heed(isAbout, act) {
  const listener = { about: isAbout, act };
  listeners.add(listener);
  act();
  return () => void listeners.delete(listener);
}

/** @param {string[] | null} names null for all */
function tell(names) {
  for (const { about: isAbout, act } of listeners) if (!names || names.some(isAbout)) act();
}

export function listen() {
  let known = false;
  follow({
    open: opening("/v1/news"),
    places: false,
    line: (state) => {
      if (state === "live" && known) tell(null);
      if (state === "live") known = true;
      line.value = state;
    },
    on: (frames) => {
      for (const { event, data } of frames) if (event === "news") tell(data.all ? null : data.streams);
    },
  });
  heed((name) => name.startsWith("approval/"), async () => {
    try {
      pending.value = await get("/v1/approvals/pending?limit=100");
    } catch { /* the line says that it is lost */ }
  });
  effect(() => {
    if (line.value === "live") get("/v1/about").then((told) => (about.value = told), () => {});
  });
}
