// What is remembered: read it, correct it, forget it.
import { get, patch, post, remove } from "../api.js";
import { heed } from "../news.js";
import { Head } from "../parts/listing.js";
import { html, useEffect, useState } from "../ui.js";
import { t, when } from "../words.js";

/** @param {{id: string}} props */
export function Memory({ id }) {
  const [found, setFound] = useState(/** @type {any[] | null} */ (null));
  const [question, setQuestion] = useState("");
  const [fresh, setFresh] = useState("");
  const [wrong, setWrong] = useState("");
  const look = async () => {
    try {
      const query = question.trim() ? `?q=${encodeURIComponent(question.trim())}` : "?limit=200";
      setFound((await get(`/v1/memory${query}`)).results);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  useEffect(() => heed((name) => name.startsWith("memory/"), look), [question]);
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!fresh.trim()) return;
    try {
      await post("/v1/memory", { text: fresh.trim() });
      setFresh("");
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  return html`<div class="page narrow">
    <${Head} title=${t("Memory")} about=${t("What agents are told again when it fits. What you forget here is erased everywhere.")}>
      <a class="button quiet" href="/v1/memory/export" download="memory.ndjson">${t("Export")}</a>
    <//>
    <form class="row" onSubmit=${add}>
      <input class="grow" value=${fresh} placeholder=${t("Something to remember…")} aria-label=${t("Something to remember…")} onInput=${(/** @type {any} */ e) => setFresh(e.target.value)} />
      <button class="primary">${t("Remember")}</button>
    </form>
    <input type="search" value=${question} placeholder=${t("Search")} aria-label=${t("Search")} onInput=${(/** @type {any} */ e) => setQuestion(e.target.value)} />
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${found && !found.length && html`<p class="empty faint">${t("Nothing is remembered yet.")}</p>`}
    ${(found ?? []).map((line) => html`<${One} key=${line.id} line=${line} here=${line.id === id} />`)}
  </div>`;
}

/** @param {{line: any, here: boolean}} props */
function One({ line, here }) {
  const [text, setText] = useState(/** @type {string | null} */ (here ? line.text : null));
  const [sure, setSure] = useState(false);
  const keep = async () => {
    await patch(`/v1/memory/${line.id}`, { text });
    setText(null);
  };
  return html`<section class=${`card ${here ? "here" : ""}`}>
    ${text === null ? html`<p>${line.text}</p>` : html`<textarea rows="3" aria-label=${t("Text")} value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)}></textarea>`}
    <div class="row">
      <small class="faint grow">${t(line.memory_type)} · ${t(line.scope)} · ${t("used {n} times", { n: line.use_count })} · ${when(line.created_at)}
        ${line.source_run && html` · <a href=${`#/run/${line.source_run}`}>${t("run")}</a>`}</small>
      ${line.state === "proposed" && html`<button class="primary small" onClick=${() => post(`/v1/memory/${line.id}/accept`)}>${t("Accept")}</button>`}
      ${text === null
        ? html`<button class="quiet small" onClick=${() => setText(line.text)}>${t("Correct")}</button>`
        : html`<button class="primary small" onClick=${keep}>${t("Keep")}</button><button class="quiet small" onClick=${() => setText(null)}>${t("Cancel")}</button>`}
      ${sure
        ? html`<button class="danger small" onClick=${() => remove(`/v1/memory/${line.id}`)}>${t("Forget for good")}</button>`
        : html`<button class="quiet small" onClick=${() => setSure(true)}>${t("Forget")}</button>`}
    </div>
  </section>`;
}
