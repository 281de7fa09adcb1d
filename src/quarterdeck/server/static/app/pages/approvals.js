// The inbox: everything that waits for a person, and what was decided; and the rules that were made.
import { get, remove } from "../api.js";
import { heed, pending } from "../news.js";
import { ApprovalCard, PasswordCard } from "../parts/approval_card.js";
import { Head, Listing, useListing } from "../parts/listing.js";
import { html, useEffect, useState } from "../ui.js";
import { t, when } from "../words.js";

export function Approvals() {
  const past = useListing("/v1/approvals?limit=50", (name) => name.startsWith("approval/"));
  const [rules, setRules] = useState(/** @type {any[]} */ ([]));
  useEffect(() => heed((name) => name.startsWith("rules/"), () => get("/v1/rules").then(setRules, () => {})), []);
  const locked = past.lines.filter((line) => line.waiting_for_password);
  const decided = past.lines.filter((line) => line.status !== "pending" && !line.waiting_for_password);
  const mayTell = "Notification" in window && Notification.permission === "default";
  return html`<div class="page narrow">
    <${Head} title=${t("Approvals")} about=${t("Nothing risky runs before somebody here says so. What you allow is exactly what you see.")}>
      ${mayTell && html`<button class="quiet" onClick=${() => Notification.requestPermission()}>${t("Notify me")}</button>`}
    <//>
    ${locked.map((line) => html`<${PasswordCard} key=${`p${line.approval_id}`} task=${line.task_id} approval=${line.approval_id} command=${line.shown} />`)}
    ${pending.value.map((line, place) => html`<${ApprovalCard} key=${line.approval_id} approval=${line} task=${line.task_id} focus=${place === 0} />`)}
    ${!pending.value.length && !locked.length && html`<p class="empty faint">${t("Nothing waits for you.")}</p>`}
    ${rules.length > 0 && html`<h2>${t("Allowed for always")}</h2>
      <ul class="rows">${rules.map((rule) => html`<li key=${rule.id}><code class="grow">${rule.tool} ${rule.shown}</code>
        <small class="faint">${t("until {when}", { when: when(rule.expires_at) })}</small>
        <button class="danger small" onClick=${() => remove(`/v1/rules/${rule.id}`)}>${t("Revoke")}</button></li>`)}</ul>`}
    <h2>${t("Decided")}</h2>
    ${past.ready && !decided.length && html`<p class="empty faint">${t("What was decided is kept here.")}</p>`}
    <${Listing} list=${past} empty="">
      <ul class="rows">${decided.map((line) => html`<li key=${line.approval_id}>
        <span class=${`risk ${line.risk_level}`}>${t(line.risk_level)}</span>
        <code class="grow">${line.shown.slice(0, 300)}</code>
        <span>${t(line.status)}</span><small class="faint">${String(line.decided_by ?? "").replace(/^person:/, "")} ${when(line.decided_at)}</small>
        <a href=${`#/run/${line.task_id}`}>${t("run")}</a></li>`)}</ul>
    <//>
  </div>`;
}
