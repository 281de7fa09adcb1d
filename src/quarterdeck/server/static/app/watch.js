// Runs that are being watched: each is followed once, however many places of the page show it.
import { get } from "./api.js";
import { emptyRun, evolve } from "./run.js";
import { follow, opening, perPicture } from "./stream.js";
import { signal, useEffect, useState } from "./ui.js";

/** @typedef {{run: import("./ui.js").Sig<import("./run.js").Run>, users: number, leave: () => void}} Watch */
/** @type {Map<string, Watch>} */
const watches = new Map();
const LINGER_MS = 5000;

/** @param {string} task */
function watch(task) {
  const known = watches.get(task);
  if (known) {
    known.users += 1;
    return known;
  }
  const run = signal(emptyRun(task));
  const on = perPicture((/** @type {import("./stream.js").Frame[]} */ frames) => (run.value = evolve(run.value, frames)));
  const leave = follow({
    open: opening(`/v1/tasks/${task}/stream`),
    on,
    failed: (why) => (run.value = { ...run.value, done: true, status: "failed", detail: why.message }),
  });
  /** @type {Watch} */
  const begun = { run, users: 1, leave };
  watches.set(task, begun);
  return begun;
}

/** @param {string} task */
function unwatch(task) {
  const known = watches.get(task);
  if (!known) return;
  known.users -= 1;
  setTimeout(() => {
    if (known.users > 0 || watches.get(task) !== known) return;
    known.leave();
    watches.delete(task);
  }, LINGER_MS);
}

/** The run as it stands and goes on; null for none. @param {string | null} task */
export function useRun(task) {
  const [run, setRun] = useState(/** @type {import("./run.js").Run | null} */ (null));
  useEffect(() => {
    setRun(null);
    if (!task) return undefined;
    const watched = watch(task);
    const stop = watched.run.subscribe(setRun);
    return () => {
      stop();
      unwatch(task);
    };
  }, [task]);
  return run;
}

/** A run that is over, from its events; with the times they were recorded at. @param {string} task */
export async function pastRun(task) {
  let run = emptyRun(task);
  let after = 0;
  /** @type {any[]} */
  const events = [];
  for (;;) {
    const page = await get(`/v1/tasks/${task}/events?after=${after}&limit=500`);
    events.push(...page);
    if (page.length < 500) break;
    after = page[page.length - 1].seq;
  }
  for (const event of events) {
    run = evolve(run, [{ event: event.event_type, data: event.payload, seq: event.seq }], () => event.at * 1000);
  }
  return { run, events };
}
