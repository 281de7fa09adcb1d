// A plan that waits: approve it as it is, or change it first.
import { put, post, freshKey } from "../api.js";
import { html, useState } from "../ui.js";
import { t } from "../words.js";

/** @param {{path: string, run: import("../team.js").TeamRun}} props */
export function PlanEditor({ path, run }) {
  const [phases, setPhases] = useState(/** @type {any[] | null} */ (null));
  const [wrong, setWrong] = useState("");
  const doing = async (/** @type {Promise<any>} */ what) => {
    setWrong("");
    try {
      await what;
      setPhases(null);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const set = (/** @type {number} */ place, /** @type {any} */ what) => setPhases((now) => (now ?? []).map((phase, n) => (n === place ? { ...phase, ...what } : phase)));
  const keep = () =>
    doing(put(`${path}/plan`, {
      phases: (phases ?? []).map(({ id, name, expert, task, depends_on, kind, topic, participants }) => ({ id, name, expert, task, depends_on, type: kind, topic, participants })),
    }));
  return html`<section class="card ask"><header class="ask-head"><strong>${t("The plan waits for you.")}</strong></header>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${phases && phases.map((phase, place) => html`<fieldset key=${phase.id}><legend><code>${phase.id}</code></legend>
      <input value=${phase.name} aria-label=${t("Name")} onInput=${(/** @type {any} */ e) => set(place, { name: e.target.value })} />
      <select aria-label=${t("Who has it")} value=${phase.expert} onChange=${(/** @type {any} */ e) => set(place, { expert: e.target.value })}>
        ${run.experts.map((expert) => html`<option>${expert.name}</option>`)}</select>
      <textarea rows="2" aria-label=${t("What is to be done")} value=${phase.task} onInput=${(/** @type {any} */ e) => set(place, { task: e.target.value })}></textarea>
      <label>${t("Waits for")} <input value=${phase.depends_on.join(" ")} onInput=${(/** @type {any} */ e) => set(place, { depends_on: e.target.value.split(/\s+/).filter(Boolean) })} /></label>
      <button type="button" class="quiet small" onClick=${() => setPhases(phases.filter((_, n) => n !== place))}>${t("Leave out")}</button></fieldset>`)}
    <div class="row">${phases
      ? html`<button class="primary" onClick=${keep}>${t("Carry this out")}</button><button class="quiet" onClick=${() => setPhases(null)}>${t("Cancel")}</button>`
      : html`<button class="primary" onClick=${() => doing(post(`${path}/interventions`, { text: "/approve" }, freshKey()))}>${t("Approve")}</button>
          <button onClick=${() => setPhases(run.phases.map((phase) => ({ ...phase })))}>${t("Edit")}</button>`}</div>
  </section>`;
}
