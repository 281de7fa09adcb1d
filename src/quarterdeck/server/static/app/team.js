// A team's run as it is shown: a fold of its events.

/**
 * @typedef {{id: string, name: string, expert: string, task: string, depends_on: string[], kind: string, topic: string, participants: string[],
 *   status: string, detail: string, run: string | null}} Phase
 * @typedef {{key: string, work: string, expert: string, phase: string | null, round: number, run: string | null, text: string, end: string | null}} Part
 * @typedef {{
 *   id: string, team: string, task: string, experts: any[], status: string, version: number, approved: boolean, paused: boolean,
 *   phases: Phase[], parts: Part[], verdicts: Record<string, any>, receipts: any[], answer: string, detail: string | null, done: boolean,
 * }} TeamRun
 */

/** @param {string} id @returns {TeamRun} */
export const emptyTeamRun = (id) => ({
  id, team: "", task: "", experts: [], status: "queued", version: 0, approved: false, paused: false, phases: [], parts: [], verdicts: {},
  receipts: [], answer: "", detail: null, done: false,
});

/** @param {TeamRun} run @param {{event: string, data: any}[]} frames @returns {TeamRun} */
export function evolveTeam(run, frames) {
  const next = { ...run, parts: run.parts.slice(), phases: run.phases.slice(), receipts: run.receipts.slice(), verdicts: { ...run.verdicts } };
  for (const { event, data } of frames) step(next, event, data);
  return next;
}

/** @param {TeamRun} run @param {string} event @param {any} data */
function step(run, event, data) {
  switch (event) {
    case "team_status":
      if (data.stage === "queued") Object.assign(run, { team: data.team, task: data.task, experts: data.experts });
      run.status = run.done ? run.status : data.stage === "queued" ? "queued" : "running";
      return;
    case "plan_update":
      return plan(run, data);
    case "part_started":
      return begin(run, data);
    case "part_ended":
      run.parts = run.parts.map((part) => (part.key === data.part ? { ...part, text: data.text, end: data.end } : part));
      return;
    case "debate_closed":
      run.verdicts[data.phase] = data;
      return;
    case "intervention_accepted":
      run.receipts.push({ id: data.intervention, text: data.text, status: "accepted", detail: "" });
      return;
    case "intervention_heeded":
      return heed(run, data);
    case "snapshot":
    case "stream.reset":
      return stand(run, data.snapshot);
    case "done":
      Object.assign(run, { done: true, status: data.status, answer: data.answer, detail: data.detail });
  }
}

/** @param {TeamRun} run @param {any} data */
function plan(run, data) {
  if (data.change === "plan") {
    const known = new Map(run.phases.map((phase) => [phase.id, phase]));
    run.version = data.version;
    run.phases = data.phases.map((/** @type {any} */ phase) => ({ status: "pending", detail: "", run: null, ...known.get(phase.id), ...phase }));
  } else if (data.change === "approved") {
    run.approved = true;
  } else if (data.change === "phase") {
    change(run, data.phase, { status: data.status, expert: data.expert, detail: data.detail });
  } else if (data.change === "started") {
    change(run, data.phase, { status: "running", ...(data.work === "phase" ? { run: data.run } : {}) });
    begin(run, data);
  } else if (data.change === "stopping") {
    heed(run, data);
  }
}

/** @param {TeamRun} run @param {string} id @param {Partial<Phase>} what */
function change(run, id, what) {
  run.phases = run.phases.map((phase) => (phase.id === id ? { ...phase, ...what } : phase));
}

/** @param {TeamRun} run @param {any} data */
function begin(run, data) {
  const { part, work, expert, phase, round, run: child } = data;
  run.parts.push({ key: part, work, expert, phase, round, run: child, text: "", end: null });
}

/** @param {TeamRun} run @param {any} data */
function heed(run, data) {
  run.receipts = run.receipts.map((one) => (one.id === data.intervention ? { ...one, status: data.outcome, detail: data.detail } : one));
  if (data.outcome !== "applied") return;
  if (data.command === "pause") run.paused = true;
  if (data.command === "resume") run.paused = false;
}

/** @param {TeamRun} run @param {any} shot */
function stand(run, shot) {
  run.version = shot.plan_version;
  run.phases = shot.phases;
  run.parts = shot.parts.map((/** @type {any} */ part) => ({ ...part, text: "", end: null }));
  run.verdicts = Object.fromEntries(shot.verdicts.map((/** @type {any} */ one) => [one.phase, one]));
  run.approved = shot.waits_for !== "approval";
  run.paused = shot.waits_for === "resume";
}

/** In which column each phase stands: behind all that it depends on. @param {Phase[]} phases @returns {Map<string, number>} */
export function columnsOf(phases) {
  const by = new Map(phases.map((phase) => [phase.id, phase]));
  /** @type {Map<string, number>} */
  const found = new Map();
  /** @param {string} id @param {number} deep @returns {number} */
  const at = (id, deep) => {
    const known = found.get(id);
    const phase = by.get(id);
    if (known !== undefined || !phase || deep > phases.length) return known ?? 0;
    const column = Math.max(0, ...phase.depends_on.filter((one) => by.has(one)).map((one) => at(one, deep + 1) + 1));
    found.set(id, column);
    return column;
  };
  for (const phase of phases) at(phase.id, 0);
  return found;
}
