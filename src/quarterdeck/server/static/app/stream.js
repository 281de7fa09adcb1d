// Reading a stream of server-sent events by its contract: places move by one, a broken connection resumes behind the
// last that was applied, a gap or a reset begins anew from a snapshot, and only `end` is the end.
import { Trouble, trouble } from "./api.js";

const SILENCE_MS = 40_000;
const LONGEST_PAUSE_MS = 10_000;
// Events that say where the reader is now, instead of moving it by one.
const LEAPS = new Set(["snapshot", "skip", "stream.gap", "stream.reset"]);

/**
 * @typedef {{event: string, data: any, seq: number | null}} Frame
 * @typedef {"opening" | "live" | "lost" | "ended"} Line
 * @typedef {{
 *   open: (last: string | null, signal: AbortSignal) => Promise<Response>,
 *   on: (frames: Frame[]) => void,
 *   line?: (state: Line) => void,
 *   failed?: (why: Trouble) => void,
 *   places?: boolean,
 * }} Reading
 */

/**
 * Follow a stream until it ends or is left. Returns how to leave.
 * @param {Reading} reading
 */
export function follow(reading) {
  const leaving = new AbortController();
  void keepReading(reading, leaving.signal);
  return () => leaving.abort();
}

/** @param {Reading} reading @param {AbortSignal} leaving */
async function keepReading(reading, leaving) {
  /** @type {{last: string | null, seq: number | null}} */
  const place = { last: null, seq: null };
  let tries = 0;
  while (!leaving.aborted) {
    reading.line?.(tries ? "lost" : "opening");
    const once = new AbortController();
    const leave = () => once.abort();
    leaving.addEventListener("abort", leave);
    try {
      const response = await reading.open(place.last, once.signal);
      if (response.status === 204) return reading.line?.("ended");
      if (!response.ok) throw await trouble(response);
      tries = 0;
      reading.line?.("live");
      if (await readThrough(response, reading, place, once)) return reading.line?.("ended");
    } catch (why) {
      if (leaving.aborted) return;
      if (why instanceof Trouble && why.status >= 400 && why.status < 500 && why.status !== 429) {
        reading.line?.("ended");
        return reading.failed?.(why);
      }
    } finally {
      leaving.removeEventListener("abort", leave);
      once.abort();
    }
    tries += 1;
    reading.line?.("lost");
    await pause(Math.min(LONGEST_PAUSE_MS, 250 * 2 ** Math.min(tries, 6)) * (0.5 + Math.random()), leaving);
  }
}

/**
 * True where the stream said that it is over.
 * @param {Response} response @param {Reading} reading
 * @param {{last: string | null, seq: number | null}} place @param {AbortController} once
 */
async function readThrough(response, reading, place, once) {
  const body = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let held = "";
  let watch = setTimeout(() => once.abort(), SILENCE_MS);
  try {
    for (;;) {
      const { done, value } = await body.read();
      if (done) return false;
      clearTimeout(watch);
      watch = setTimeout(() => once.abort(), SILENCE_MS);
      held += decoder.decode(value, { stream: true });
      const cut = held.lastIndexOf("\n\n");
      if (cut < 0) continue;
      const { frames, ended, missed } = applied(held.slice(0, cut), place, reading.places !== false);
      held = held.slice(cut + 2);
      if (frames.length) reading.on(frames);
      if (ended) return true;
      if (missed) return false;
    }
  } finally {
    clearTimeout(watch);
  }
}

/**
 * The frames that count, in order; `missed` where one did not follow the one before it.
 * @param {string} text @param {{last: string | null, seq: number | null}} place @param {boolean} places
 */
function applied(text, place, places) {
  /** @type {Frame[]} */
  const frames = [];
  for (const block of text.split("\n\n")) {
    const { event, data, id } = parsed(block);
    if (event === "end") return { frames, ended: true, missed: false };
    if (event === "draining") return { frames, ended: false, missed: true };
    if (event === "" || event === "hb") {
      if (event === "hb" && places && place.seq !== null && data.head > place.seq) return { frames, ended: false, missed: true };
      continue;
    }
    const seq = id === null ? null : Number(id.slice(id.lastIndexOf(".") + 1));
    if (seq !== null) {
      const leap = LEAPS.has(event);
      if (!leap && place.seq !== null && seq <= place.seq) continue;
      if (!leap && place.seq !== null && seq !== place.seq + 1) return { frames, ended: false, missed: true };
      place.seq = seq;
      place.last = id;
    }
    frames.push({ event, data, seq });
  }
  return { frames, ended: false, missed: false };
}

/** @param {string} block */
function parsed(block) {
  let event = "";
  /** @type {string | null} */
  let id = null;
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
    else if (line.startsWith("id: ")) id = line.slice(4);
  }
  return { event, id, data: data ? JSON.parse(data) : {} };
}

/** @param {number} ms @param {AbortSignal} leaving */
function pause(ms, leaving) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const now = () => (clearTimeout(timer), resolve(null));
    leaving.addEventListener("abort", now, { once: true });
    addEventListener("online", now, { once: true });
  });
}

/**
 * Opens a stream with GET, behind the last event that was applied.
 * @param {string} path
 * @returns {(last: string | null, signal: AbortSignal) => Promise<Response>}
 */
export const opening = (path) => (last, signal) =>
  fetch(path, { signal, headers: last === null ? {} : { "last-event-id": last }, cache: "no-store" });

/**
 * Gathers what comes in and hands it on once for each picture the screen shows.
 * @template T
 * @param {(items: T[]) => void} act
 * @returns {(items: T[]) => void}
 */
export function perPicture(act) {
  /** @type {T[]} */
  let gathered = [];
  let waiting = false;
  const hand = () => {
    if (!waiting) return;
    waiting = false;
    const items = gathered;
    gathered = [];
    act(items);
  };
  return (items) => {
    gathered = gathered.length ? gathered.concat(items) : items;
    if (waiting) return;
    waiting = true;
    // A page that nobody looks at is shown no pictures.
    if (document.visibilityState === "visible") requestAnimationFrame(hand);
    else setTimeout(hand, 200);
  };
}
