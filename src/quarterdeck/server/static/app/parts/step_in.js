// Where people step into a team's run: words and commands, with completion and a receipt for each.
import { freshKey, post } from "../api.js";
import { html, useRef, useState } from "../ui.js";
import { t } from "../words.js";

const COMMANDS = ["/stop", "/debate ", "/skip ", "/retry ", "/pause", "/resume", "/approve", "/extend", "/close"];

/** @param {{path: string, run: import("../team.js").TeamRun}} props */
export function StepIn({ path, run }) {
  const [words, setWords] = useState("");
  const [wrong, setWrong] = useState("");
  const key = useRef("");
  const field = useRef();
  const say = async (/** @type {Event | null} */ event, /** @type {string} */ said = words.trim()) => {
    event?.preventDefault();
    if (!said) return;
    setWrong("");
    key.current = key.current || freshKey();
    try {
      await post(`${path}/interventions`, { text: said }, key.current);
      key.current = "";
      setWords("");
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const last = /(\S*)$/.exec(words)?.[1] ?? "";
  const names = run.experts.map((expert) => `@${expert.name} `);
  const phases = /^\/(retry|skip) \S*$/.test(words) ? run.phases.map((phase) => phase.id) : [];
  const offers = words.startsWith("/") && !words.includes(" ") ? COMMANDS : last.startsWith("@") ? names : phases;
  const fitting = offers.filter((offer) => offer.startsWith(last)).slice(0, 9);
  return html`<form class="composer" onSubmit=${say}>
    ${run.receipts.length > 0 && html`<ul class="receipts" aria-label=${t("What was said")}>${run.receipts.slice(-5).map((one) => html`<li key=${one.id}>
      <span class=${`state ${one.status === "applied" ? "completed" : one.status === "ignored" ? "failed" : "running"}`}>${t(one.status)}</span> ${one.text} <small class="faint">${one.detail}</small></li>`)}</ul>`}
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${fitting.length > 0 && words !== "" && html`<div class="chips">${fitting.map((offer) => html`<button type="button" key=${offer}
      onClick=${() => (setWords(words.slice(0, words.length - last.length) + offer), field.current.focus())}>${offer}</button>`)}</div>`}
    <div class="row"><input class="grow" id="composer" ref=${field} value=${words} disabled=${run.done} placeholder=${t("Guidance for everybody, @name …, or / for commands")}
      aria-label=${t("Step in")} onInput=${(/** @type {any} */ e) => (setWords(e.target.value), (key.current = ""))} />
      <button class="primary" disabled=${run.done || !words.trim()}>${t("Step in")}</button>
      ${!run.done && html`<button type="button" class="quiet" onClick=${() => say(null, run.paused ? "/resume" : "/pause")}>${run.paused ? t("Go on") : t("Pause")}</button>
        <button type="button" class="danger" onClick=${() => say(null, "/stop")}>${t("Stop")}</button>`}</div>
  </form>`;
}
