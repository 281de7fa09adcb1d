// A run as it is shown: a fold of its events, the same for one that streams and one that is long over.

/**
 * @typedef {{kind: "text" | "reasoning", attempt: number, text: string, key: string}} Said
 * @typedef {{kind: "tool", id: string, name: string, args: any, output: string, result: string | null, ok: boolean | null,
 *   exit: number | null, begun: number | null, ended: number | null, shown: string, risk: string, key: string}} Tool
 * @typedef {{kind: "ask", id: string, asked: any, decision: any, password: "none" | "wanted" | "given", key: string}} Ask
 * @typedef {{kind: "note", name: string, data: any, key: string}} Note
 * @typedef {Said | Tool | Ask | Note} Part
 * @typedef {{
 *   task: string, seq: number, status: string, stage: string | null, attempt: number, role: string, model: string,
 *   parts: Part[], stats: any, usage: any, code: string | null, detail: string | null, done: boolean,
 *   tokens: number, wishes: Record<string, any>,
 * }} Run
 */

/** @param {string} task @returns {Run} */
export const emptyRun = (task) => ({
  task, seq: 0, status: "queued", stage: "queued", attempt: 0, role: "", model: "", parts: [], stats: null, usage: null,
  code: null, detail: null, done: false, tokens: 0, wishes: {},
});

const WAITS = new Set(["waiting_for_approval", "waiting_for_password", "waiting_for_answer"]);
const NOTED = new Set(["memory_used", "skill_activated", "action_loop_skipped", "attempt_superseded", "attempt_broke",
  "stream.gap", "stream.reset", "skip"]);

/**
 * The run after these frames. A new object each time, whose parts are kept where nothing changed in them.
 * @param {Run} run @param {{event: string, data: any, seq: number | null}[]} frames @param {(seq: number | null) => number} [at]
 * @returns {Run}
 */
export function evolve(run, frames, at = () => Date.now()) {
  const next = { ...run, parts: run.parts.slice() };
  for (const frame of frames) {
    if (frame.seq !== null) next.seq = frame.seq;
    step(next, frame.event, frame.data, frame.seq, at(frame.seq));
  }
  return next;
}

/** @param {Run} run @param {string} event @param {any} data @param {number | null} seq @param {number} at */
function step(run, event, data, seq, at) {
  switch (event) {
    case "content_delta":
      run.tokens += 1;
      return say(run, "text", data.delta);
    case "reasoning_delta":
      run.tokens += 1;
      return say(run, "reasoning", data.delta);
    case "runtime_status":
      run.stage = data.stage;
      run.status = WAITS.has(data.stage) ? data.stage : data.stage === "queued" ? "queued" : "running";
      return;
    case "claimed":
      run.status = "running";
      return;
    case "attempt_started":
      run.attempt = data.attempt;
      run.role = data.role;
      run.model = data.model;
      return;
    case "attempt_superseded":
      run.parts = run.parts.filter((part) => !("attempt" in part && part.attempt === data.attempt));
      break;
    case "tool_weighed":
      tool(run, data.call_id, { shown: data.shown, risk: data.risk });
      return;
    case "tool_call_started":
      tool(run, data.call_id, { name: data.tool, args: data.args, begun: at });
      return;
    case "tool_call_output":
      said(run, data.call_id, data.delta);
      return;
    case "tool_call_finished":
      tool(run, data.call_id, { name: data.tool, ok: data.ok, result: data.result, exit: data.exit_status, ended: at });
      return;
    case "tool_approval_requested":
      run.parts.push({ kind: "ask", id: data.approval_id, asked: data, decision: null, password: "none", key: `a${seq}` });
      return;
    case "approval_decided":
      ask(run, data.approval, { decision: data });
      return;
    case "tool_password_requested":
      ask(run, data.approval_id, { password: "wanted" });
      return;
    case "approval_password_given":
      ask(run, data.approval, { password: "given" });
      return;
    case "done":
      run.done = true;
      Object.assign(run, { status: data.status, stage: null, code: data.code, detail: data.detail });
      Object.assign(run, { stats: data.generation_stats, usage: data.usage });
      return;
    case "snapshot":
    case "stream.gap":
    case "stream.reset":
      begin(run, data.snapshot);
      break;
  }
  if (event.startsWith("intervention_")) return wish(run, event.slice("intervention_".length), data, seq);
  if (NOTED.has(event)) run.parts.push({ kind: "note", name: event, data, key: `n${seq}` });
}

/** @param {Run} run @param {"text" | "reasoning"} kind @param {string} text */
function say(run, kind, text) {
  const last = run.parts[run.parts.length - 1];
  if (last && last.kind === kind && last.attempt === run.attempt) {
    run.parts[run.parts.length - 1] = { ...last, text: last.text + text };
  } else {
    run.parts.push({ kind, attempt: run.attempt, text, key: `${kind}${run.parts.length}.${run.attempt}` });
  }
}

/** @param {Run} run @param {string} id @param {Partial<Tool>} what */
function tool(run, id, what) {
  const place = run.parts.findIndex((part) => part.kind === "tool" && part.id === id);
  /** @type {Tool} */
  const fresh = { kind: "tool", id, name: "", args: null, output: "", result: null, ok: null, exit: null, begun: null,
    ended: null, shown: "", risk: "", key: `t${id}` };
  if (place < 0) run.parts.push({ ...fresh, ...what });
  else run.parts[place] = { .../** @type {Tool} */ (run.parts[place]), ...what };
}

const LONGEST_OUTPUT = 100_000;

/** @param {Run} run @param {string} id @param {string} text */
function said(run, id, text) {
  const known = /** @type {Tool | undefined} */ (run.parts.find((part) => part.kind === "tool" && part.id === id));
  tool(run, id, { output: ((known?.output ?? "") + text).slice(-LONGEST_OUTPUT) });
}

/** @param {Run} run @param {string} id @param {Partial<Ask>} what */
function ask(run, id, what) {
  const place = run.parts.findIndex((part) => part.kind === "ask" && part.id === id);
  if (place >= 0) run.parts[place] = { .../** @type {Ask} */ (run.parts[place]), ...what };
}

/** @param {Run} run @param {string} what @param {any} data @param {number | null} seq */
function wish(run, what, data, seq) {
  const id = data.intervention;
  run.wishes = { ...run.wishes, [id]: { ...run.wishes[id], ...data, state: what } };
  if (what === "applied") run.parts.push({ kind: "note", name: "heeded", data: run.wishes[id], key: `w${seq}` });
}

/** @param {Run} run @param {any} shot */
function begin(run, shot) {
  run.parts = [];
  run.attempt = shot.attempt;
  run.status = shot.status;
  run.stage = shot.stage;
  if (shot.reasoning) say(run, "reasoning", shot.reasoning);
  if (shot.content) say(run, "text", shot.content);
}

/** The answer as text. @param {Run} run */
export const answerOf = (run) =>
  run.parts.filter((part) => part.kind === "text").map((part) => /** @type {Said} */ (part).text).join("\n\n");
