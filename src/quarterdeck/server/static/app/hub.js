// The hub: what agents are saying in a project right now, piece by piece, and who is there.
import { perPicture } from "./stream.js";
import { useEffect, useState } from "./ui.js";

const BACK = 2000; // places that are read again, so that what is half said is shown from its beginning
const LONGEST_PAUSE_MS = 10_000;
const LONGEST_TEXT = 100_000;

/** @typedef {{id: string, slug: string, chat: string | null, task: string | null, run: string | null, text: string, tools: any[], state: "speaks" | "ended" | "interrupted"}} Speech */
/** @typedef {{speeches: Map<string, Speech>, online: Set<string>}} Told */

/** Follows one project until it is left. @param {string} project @param {(told: Told) => void} tell */
function follow(project, tell) {
  /** @type {Told} */
  let told = { speeches: new Map(), online: new Set() };
  let seq = 0;
  let tries = 0;
  let left = false;
  /** @type {WebSocket | null} */
  let socket = null;
  let timer = 0;
  const take = perPicture((/** @type {any[]} */ frames) => {
    told = { speeches: new Map(told.speeches), online: new Set(told.online) };
    for (const frame of frames) hear(told, frame);
    tell(told);
  });
  const connect = () => {
    socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`);
    const here = socket;
    here.onmessage = ({ data }) => {
      const { type, data: said } = JSON.parse(data);
      if (type === "auth.ok") {
        tries = 0;
        const head = said.projects.find((/** @type {any} */ one) => one.id === project)?.head ?? 0;
        here.send(JSON.stringify({ type: "project.subscribe", data: { project_id: project, after: seq || Math.max(0, head - BACK) } }));
        return;
      }
      if (said.project_id !== project) return;
      if (type === "project.subscribed") {
        if (said.reset) seq = 0;
        take([{ type: "here", said: { online: said.online, anew: Boolean(said.reset) } }]);
        return;
      }
      if (typeof said.seq === "number") {
        if (said.seq <= seq) return;
        seq = said.seq;
      }
      take([{ type, said }]);
    };
    here.onclose = () => {
      if (left) return;
      tries += 1;
      timer = window.setTimeout(connect, Math.min(LONGEST_PAUSE_MS, 250 * 2 ** Math.min(tries, 6)) * (0.5 + Math.random()));
    };
  };
  connect();
  return () => {
    left = true;
    clearTimeout(timer);
    socket?.close();
  };
}

/** @param {Told} told @param {{type: string, said: any}} frame */
function hear(told, { type, said }) {
  if (type === "here") {
    if (said.anew) told.speeches.clear();
    told.online = new Set(said.online);
    return;
  }
  if (type === "presence") {
    if (said.status === "online") told.online.add(said.member_id);
    else told.online.delete(said.member_id);
    return;
  }
  const known = told.speeches.get(said.stream_id);
  if (type === "agent.stream.start") {
    told.speeches.set(said.stream_id, { id: said.stream_id, slug: said.agent_slug, chat: said.chat_id, task: said.task_id, run: said.run_id ?? null, text: "", tools: [], state: "speaks" });
  } else if (!known) {
    return;
  } else if (type === "agent.stream.delta") {
    told.speeches.set(known.id, { ...known, text: (known.text + said.delta).slice(-LONGEST_TEXT) });
  } else if (type === "agent.stream.tool") {
    told.speeches.set(known.id, { ...known, tools: [...known.tools, said] });
  } else if (type === "agent.stream.end") {
    told.speeches.delete(known.id);
  } else if (type === "agent.stream.interrupted") {
    told.speeches.set(known.id, { ...known, state: "interrupted" });
  }
}

/** What is being said in a project. @param {string} project @returns {Told} */
export function useHub(project) {
  const [told, setTold] = useState(/** @type {Told} */ ({ speeches: new Map(), online: new Set() }));
  useEffect(() => follow(project, setTold), [project]);
  return told;
}
