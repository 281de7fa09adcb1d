// All runs, the latest first.
import { Head, Listing, useListing } from "../parts/listing.js";
import { html, useState } from "../ui.js";
import { lasted, t, when } from "../words.js";

const STATES = ["running", "waiting_for_approval", "waiting_for_password", "waiting_for_answer", "completed", "stopped", "failed", "quarantined"];

export function Runs() {
  const [status, setStatus] = useState("");
  const list = useListing(`/v1/tasks?limit=50${status && `&status=${status}`}`, (name) => name.startsWith("run/"));
  return html`<div class="page">
    <${Head} title=${t("Runs")} about=${t("Each piece of work, whoever began it and through whichever door.")}>
      <label>${t("Status")} <select value=${status} onChange=${(/** @type {any} */ e) => setStatus(e.target.value)}>
        <option value="">${t("all")}</option>${STATES.map((name) => html`<option value=${name}>${t(name)}</option>`)}
      </select></label>
    <//>
    <${Listing} list=${list} empty=${t("No run yet. Begin a conversation.")}>
      <div class="wide"><table class="runs"><thead><tr><th>${t("Message")}</th><th>${t("Status")}</th><th>${t("Model")}</th><th>${t("Begun")}</th><th>${t("Took")}</th></tr></thead>
        <tbody>${list.lines.map((run) => html`<tr key=${run.task_id}>
          <td class="grow"><a href=${`#/run/${run.task_id}`}>${run.message.slice(0, 140) || t("Untitled")}</a></td>
          <td><span class=${`state ${run.status}`}>${t(run.status)}</span></td><td class="faint">${run.model ?? ""}</td>
          <td class="faint">${when(run.requested_at)}</td>
          <td class="faint">${run.finished_at ? lasted((run.finished_at - run.requested_at) * 1000) : ""}</td></tr>`)}</tbody></table></div>
    <//>
  </div>`;
}
