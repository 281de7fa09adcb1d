// One tool call: what was asked, what it said on the way, what it came to.
import { html, useState } from "../ui.js";
import { lasted, t } from "../words.js";
import { Copy } from "./copy.js";
import { visible } from "./shown.js";

/** @param {{tool: import("../run.js").Tool}} props */
export function ToolCard({ tool }) {
  const failed = tool.ok === false;
  const going = tool.ended === null;
  const [open, setOpen] = useState(false);
  const state = going ? (tool.begun === null ? t("waiting") : t("running")) : failed ? t("failed") : t("done");
  const body = open || (going && tool.output !== "");
  return html`<section class=${`card tool ${going ? "going" : failed ? "bad" : "good"}`}>
    <button class="card-head" aria-expanded=${body} onClick=${() => setOpen(!open)}>
      <span class="dot" aria-hidden="true"></span>
      <strong>${tool.name || t("tool")}</strong>
      <code class="summary">${summary(tool)}</code>
      <span class="state">${state}${tool.begun && tool.ended ? ` · ${lasted(tool.ended - tool.begun)}` : ""}</span>
    </button>
    ${body && html`<div class="card-body">
      ${tool.args !== null && html`<h4>${t("Arguments")}</h4><pre tabindex="0">${visible(pretty(tool.args))}</pre>`}
      ${tool.output && html`<h4>${t("Output")}</h4><pre class="live" tabindex="0">${visible(tool.output)}</pre>`}
      ${tool.result !== null && html`<h4>${t("Result")}${tool.exit !== null ? ` · ${t("exit status {n}", { n: tool.exit })}` : ""}
        <${Copy} text=${tool.result} /></h4><${Result} text=${tool.result} />`}
    </div>`}
  </section>`;
}

/** A result; one that is a difference is drawn as one. @param {{text: string}} props */
function Result({ text }) {
  if (!/^(---|\+\+\+|@@) /m.test(text) || !/^@@ /m.test(text)) return html`<pre tabindex="0">${visible(text)}</pre>`;
  const kind = (/** @type {string} */ line) =>
    /^(\+\+\+|---) /.test(line) ? "file" : line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : line.startsWith("@@") ? "hunk" : "";
  return html`<pre class="diff" tabindex="0">${text.split("\n").map((line) => html`<span class=${kind(line)}>${visible(line)}${"\n"}</span>`)}</pre>`;
}

/** @param {import("../run.js").Tool} tool */
function summary(tool) {
  if (tool.shown) return visible(tool.shown).slice(0, 160);
  const args = tool.args;
  if (args && typeof args === "object") return visible(Object.values(args).map(String).join(" ")).slice(0, 160);
  return "";
}

/** @param {any} value */
export const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
