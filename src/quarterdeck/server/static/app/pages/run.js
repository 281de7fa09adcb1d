// One run: as people watched it, drawn over time, and as its raw events.
import { get, post } from "../api.js";
import { heed } from "../news.js";
import { Composer } from "../parts/composer.js";
import { Copy } from "../parts/copy.js";
import { Head } from "../parts/listing.js";
import { RunView } from "../parts/run_view.js";
import { spansOf, Timeline } from "../parts/timeline.js";
import { pretty } from "../parts/tool_card.js";
import { html, useEffect, useState } from "../ui.js";
import { pastRun, useRun } from "../watch.js";
import { lasted, number, t, when } from "../words.js";

/** @param {{id: string}} props */
export function OneRun({ id }) {
  const [task, setTask] = useState(/** @type {any} */ (null));
  const [past, setPast] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  const [raw, setRaw] = useState(false);
  useEffect(() => heed((name) => name === `run/${id}`, async () => {
    try {
      const [told, gone] = await Promise.all([get(`/v1/tasks/${id}`), pastRun(id)]);
      setTask(told);
      setPast(gone);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  }), [id]);
  const live = useRun(task && !task.finished_at ? id : null);
  if (wrong) return html`<p class="empty wrong">${wrong}</p>`;
  if (!task || !past) return null;
  const run = live && live.parts.length ? live : past.run;
  const from = task.requested_at;
  const last = past.events.length ? past.events[past.events.length - 1].at : from;
  const spans = spansOf(past.events);
  return html`<div class="page narrow">
    <${Head} title=${task.message.slice(0, 120)} about=${`${when(from)} · ${task.model ?? ""}`}>
      <span class=${`state ${task.status}`}>${t(task.status)}</span>
      ${!task.finished_at && html`<button class="danger" onClick=${() => post(`/v1/tasks/${id}/stop`)}>${t("Stop")}</button>`}
    <//>
    <p><a href=${`#/c/${encodeURIComponent(task.conversation_id)}`}>${t("Conversation")}</a></p>
    <dl class="facts">
      <dt>${t("Took")}</dt><dd>${task.finished_at ? lasted((task.finished_at - from) * 1000) : t("running")}</dd>
      <dt>${t("Tokens")}</dt><dd>${number(run.stats?.tokens ?? run.tokens)}</dd>
      <dt>${t("Read")}</dt><dd>${run.usage?.input_tokens ? number(run.usage.input_tokens) : "–"}</dd>
      <dt>${t("Attempts")}</dt><dd>${spans.filter((span) => span.kind === "model").length}</dd>
      <dt>${t("Tools")}</dt><dd>${spans.filter((span) => span.kind === "tool").length}</dd>
    </dl>
    <h2>${t("Timeline")}</h2>
    <${Timeline} spans=${spans} from=${from} to=${Math.max(last, task.finished_at ?? last)} />
    <h2>${t("What happened")}</h2>
    <${RunView} run=${run} />
    ${!task.finished_at && html`<${Composer} conversation=${task.conversation_id} going=${id} sent=${() => {}} />`}
    <h2>${t("Events")} <button class="quiet small" aria-expanded=${raw} onClick=${() => setRaw(!raw)}>${raw ? t("Hide") : t("Show")}</button>
      <a class="button quiet small" download=${`run-${id}.json`} href=${`/v1/tasks/${id}/events?limit=500`}>${t("Export")}</a></h2>
    ${raw && html`<ol class="raw">${past.events.map((/** @type {any} */ event) => html`<li key=${event.seq}>
      <details><summary><code>${event.seq}</code> <strong>${event.event_type}</strong> <small class="faint">+${lasted((event.at - from) * 1000)}</small></summary>
      <pre>${pretty(event.payload)}</pre><${Copy} text=${pretty(event.payload)} /></details></li>`)}</ol>`}
  </div>`;
}
