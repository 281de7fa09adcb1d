// Teams: who is in one, what it was given to do, and its work as it goes on.
import { freshKey, get, post } from "../api.js";
import { Markdown } from "../markdown.js";
import { heed } from "../news.js";
import { Debate } from "../parts/debate.js";
import { Head, Listing, useListing } from "../parts/listing.js";
import { PlanEditor } from "../parts/plan_editor.js";
import { PlanGraph } from "../parts/plan_graph.js";
import { RunView } from "../parts/run_view.js";
import { StepIn } from "../parts/step_in.js";
import { go } from "../place.js";
import { follow, opening, perPicture } from "../stream.js";
import { emptyTeamRun, evolveTeam } from "../team.js";
import { html, useEffect, useState } from "../ui.js";
import { useRun } from "../watch.js";
import { lasted, t, when } from "../words.js";

/** @param {{id: string}} props */
export function Teams({ id }) {
  const [team, run] = id.split("/");
  if (run) return html`<${Work} key=${run} team=${team} id=${run} />`;
  return team ? html`<${Team} key=${team} id=${team} />` : html`<${All} />`;
}

const FIRST = [
  { name: "Lead", persona: "Plans, keeps the whole in view, decides." },
  { name: "Ada", persona: "Builds things; cares about how they work." },
  { name: "Boris", persona: "Looks for what can go wrong." },
];

function All() {
  const [lines, setLines] = useState(/** @type {any[] | null} */ (null));
  const [name, setName] = useState("");
  const [experts, setExperts] = useState(FIRST);
  const [wrong, setWrong] = useState("");
  useEffect(() => heed((stream) => stream.startsWith("team/"), () => get("/api/v1/teams?limit=200").then(setLines, (why) => setWrong(why.message))), []);
  const form = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const who = experts.filter((one) => one.name.trim()).map((one, place) => ({ ...one, lead: place === 0 }));
      const made = await post("/api/v1/teams", { name: name.trim(), experts: who }, freshKey());
      go(`teams/${made.id}`);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const set = (/** @type {number} */ place, /** @type {any} */ what) => setExperts(experts.map((one, n) => (n === place ? { ...one, ...what } : one)));
  return html`<div class="page narrow">
    <${Head} title=${t("Teams")} about=${t("A lead and members plan, work side by side, argue when asked to, and finish with one answer.")} />
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${(lines ?? []).map((line) => html`<a class="card project" key=${line.id} href=${`#/teams/${line.id}`}><h3>${line.name}</h3><small class="faint">${line.experts.map((/** @type {any} */ one) => one.name).join(", ")}</small></a>`)}
    <h2>${t("A new team")}</h2>
    <form onSubmit=${form}><input required value=${name} placeholder=${t("Name of the team")} aria-label=${t("Name of the team")} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />
      ${experts.map((one, place) => html`<div class="row block" key=${place}><input style=${{ width: "10rem" }} value=${one.name} aria-label=${t("Name of expert {n}", { n: place + 1 })} onInput=${(/** @type {any} */ e) => set(place, { name: e.target.value })} />
        <input class="grow" value=${one.persona} aria-label=${t("Who expert {n} is", { n: place + 1 })} onInput=${(/** @type {any} */ e) => set(place, { persona: e.target.value })} />
        <small class="faint">${place === 0 ? t("leads") : ""}</small></div>`)}
      <p class="row"><button type="button" class="quiet" onClick=${() => setExperts([...experts, { name: "", persona: "" }])}>${t("One more")}</button><span class="grow"></span>
        <button class="primary">${t("Form the team")}</button></p></form>
  </div>`;
}

/** @param {{id: string}} props */
function Team({ id }) {
  const [team, setTeam] = useState(/** @type {any} */ (null));
  const [task, setTask] = useState("");
  const [ask, setAsk] = useState(false);
  const [wrong, setWrong] = useState("");
  const runs = useListing(`/api/v1/teams/${id}/runs?limit=50`, (stream) => stream.startsWith("team_run/"));
  useEffect(() => void get(`/api/v1/teams/${id}`).then(setTeam, (why) => setWrong(why.message)), [id]);
  const give = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!task.trim()) return;
    try {
      const made = await post(`/api/v1/teams/${id}/runs`, { task: task.trim(), approve_plan: ask }, freshKey());
      go(`teams/${id}/${made.id}`);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  if (!team) return wrong ? html`<p class="empty wrong">${wrong}</p>` : null;
  return html`<div class="page narrow">
    <${Head} title=${team.name} about=${team.experts.map((/** @type {any} */ one) => one.name + (one.lead ? ` (${t("leads")})` : "")).join(", ")}><a class="button quiet" href="#/teams">${t("Teams")}</a><//>
    <form onSubmit=${give}><textarea rows="3" value=${task} placeholder=${t("What shall the team do?")} aria-label=${t("What shall the team do?")} onInput=${(/** @type {any} */ e) => setTask(e.target.value)}></textarea>
      <p class="row"><label><input type="checkbox" checked=${ask} onChange=${(/** @type {any} */ e) => setAsk(e.target.checked)} /> ${t("Show me the plan first")}</label><span class="grow"></span>
        <button class="primary" disabled=${!task.trim()}>${t("Begin")}</button></p></form>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <${Listing} list=${runs} empty=${t("Nothing was given to this team yet.")}>
      ${runs.lines.map((line) => html`<a class="card project" key=${line.id} href=${`#/teams/${id}/${line.id}`}><span class=${`state ${line.status}`}>${t(line.status)}</span> ${line.task.slice(0, 200)} <small class="faint">${when(line.requested_at)}</small></a>`)}<//>
  </div>`;
}

/** @param {{team: string, id: string}} props */
function Work({ team, id }) {
  const [run, setRun] = useState(() => emptyTeamRun(id));
  const [chosen, setChosen] = useState("");
  const [wrong, setWrong] = useState("");
  const path = `/api/v1/teams/${team}/runs/${id}`;
  useEffect(() => follow({
    open: opening(`${path}/stream`),
    on: perPicture((/** @type {any[]} */ frames) => setRun((now) => evolveTeam(now, frames))),
    failed: (why) => setWrong(why.message),
  }), [id]);
  if (wrong) return html`<p class="empty wrong">${wrong}</p>`;
  const phase = run.phases.find((one) => one.id === chosen);
  const own = run.parts.filter((part) => part.phase === chosen);
  const speaking = run.parts.filter((part) => part.end === null && part.phase === null);
  return html`<div class="project-page">
    <div class="page">
      <${Head} title=${run.task.slice(0, 200)} about=${run.version ? t("plan {n}", { n: run.version }) : ""}><span class=${`state ${run.status}`}>${t(run.paused ? "paused" : run.status)}</span>
        <a class="button quiet" href=${`#/teams/${team}`}>${t("Team")}</a><//>
      ${run.version > 0 && !run.approved && !run.done && html`<${MaybeWaits} path=${path} run=${run} />`}
      ${run.phases.length ? html`<${PlanGraph} run=${run} chosen=${chosen} choose=${(/** @type {string} */ one) => setChosen(one === chosen ? "" : one)} />`
        : !run.done && html`<p class="stage"><span class="pulse"></span>${t("The lead is planning.")}</p>`}
      ${speaking.map((part) => html`<${Speaking} key=${part.key} part=${part} />`)}
      ${phase && html`<section class="card here"><h3>${phase.name}</h3><p class="faint">${phase.expert} · ${t(phase.status)} ${phase.detail}</p>
        <${Markdown} text=${phase.task} />
        ${phase.kind === "debate" ? html`<${Debate} parts=${own} verdict=${run.verdicts[phase.id]} />` : own.map((part) => html`<${PartRun} key=${part.key} part=${part} />`)}</section>`}
      ${run.done && html`<h2>${run.status === "completed" ? t("The answer") : t("What there is")}</h2>${run.detail && html`<p class="faint">${run.detail}</p>`}<${Markdown} text=${run.answer} />`}
    </div>
    <${StepIn} path=${path} run=${run} />
  </div>`;
}

/** Whether a plan waits is known by the run as it stands. @param {{path: string, run: import("../team.js").TeamRun}} props */
function MaybeWaits({ path, run }) {
  const [waits, setWaits] = useState(false);
  useEffect(() => void get(path).then((told) => setWaits(told.waits_for === "approval"), () => {}), [run.version, run.approved]);
  return waits ? html`<${PlanEditor} path=${path} run=${run} />` : null;
}

/** @param {{part: import("../team.js").Part}} props */
function Speaking({ part }) {
  const seen = useRun(part.run);
  return seen && html`<section class="card"><p class="faint">${part.expert} · ${t(part.work)}</p><${RunView} run=${seen} /></section>`;
}

/** @param {{part: import("../team.js").Part}} props */
function PartRun({ part }) {
  const seen = useRun(part.run);
  const [task, setTask] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (part.run) get(`/v1/tasks/${part.run}`).then(setTask, () => {});
  }, [part.run, part.end]);
  return html`<div>${task?.finished_at && html`<p class="faint">${t("Took")} ${lasted((task.finished_at - task.requested_at) * 1000)}</p>`}
    ${seen ? html`<${RunView} run=${seen} />` : html`<${Markdown} text=${part.text} />`}</div>`;
}
