// Lessons that runs taught: accept them, reject them, forget them.
import { post, remove } from "../api.js";
import { Head, Listing, useListing } from "../parts/listing.js";
import { html } from "../ui.js";
import { t, when } from "../words.js";

export function Experience() {
  const list = useListing("/v1/experience?limit=100", (name) => name.startsWith("experience/"));
  return html`<div class="page narrow">
    <${Head} title=${t("Experience")} about=${t("Lessons that runs taught. One counts from when you accept it.")} />
    <${Listing} list=${list} empty=${t("No lesson yet. Reflection proposes some after a run.")}>
      ${list.lines.map((line) => html`<section class="card" key=${line.id}><p>${line.text}</p>
        <div class="row"><small class="faint grow">${t(line.state)} · ${when(line.created_at)} · <a href=${`#/run/${line.source_run}`}>${t("run")}</a></small>
          ${line.state !== "accepted" && html`<button class="primary small" onClick=${() => post(`/v1/experience/${line.id}/accept`)}>${t("Accept")}</button>`}
          ${line.state === "proposed" && html`<button class="small" onClick=${() => post(`/v1/experience/${line.id}/reject`)}>${t("Reject")}</button>`}
          <button class="quiet small" onClick=${() => remove(`/v1/experience/${line.id}`)}>${t("Forget")}</button></div></section>`)}
    <//>
  </div>`;
}
