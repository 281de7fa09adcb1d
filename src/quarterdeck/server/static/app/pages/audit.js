// Every command that was run or refused, and whether the chain of their hashes is whole.
import { get } from "../api.js";
import { Head, Listing, useListing } from "../parts/listing.js";
import { html, useState } from "../ui.js";
import { lasted, t, when } from "../words.js";

export function Audit() {
  const list = useListing("/v1/audit/commands?limit=100", (name) => name.startsWith("audit/"));
  const [verdict, setVerdict] = useState(/** @type {any} */ (null));
  return html`<div class="page">
    <${Head} title=${t("Audit")} about=${t("Every command: who asked, what decided, who approved, how it ended.")}>
      <button onClick=${() => get("/v1/audit/commands/verify").then(setVerdict)}>${t("Verify")}</button>
      <a class="button quiet" href="/v1/audit/commands/export" download="commands.ndjson">${t("Export")}</a>
    <//>
    ${verdict && html`<p class=${verdict.ok ? "right" : "wrong"} role="status">${verdict.ok ? t("Whole: {n} commands.", { n: verdict.count }) : verdict.troubles.join(" ")}
      <code>${verdict.head_hash.slice(0, 16)}</code></p>`}
    <${Listing} list=${list} empty=${t("No command yet.")}>
      <div class="wide"><table><thead><tr><th>${t("Command")}</th><th>${t("Risk")}</th><th>${t("Decided by")}</th><th>${t("Ended")}</th><th>${t("When")}</th></tr></thead>
      <tbody>${list.lines.map(({ seq, at, payload: c }) => html`<tr key=${seq}>
        <td class="grow"><code>${c.command}</code></td><td><span class=${`risk ${c.risk}`}>${t(c.risk)}</span></td>
        <td>${t(c.decided_by)} ${c.approved_by ? String(c.approved_by).replace(/^person:/, "") : ""}</td>
        <td>${c.approved ? (c.exit_status ?? (c.ok ? t("done") : t("failed"))) : t("refused")} <small class="faint">${lasted(c.took_ms)}</small></td>
        <td class="faint">${when(at)}</td></tr>`)}</tbody></table></div>
    <//>
  </div>`;
}
