// A run as people watch it: what it thinks, does, asks and says, in order.
import { html, useState } from "../ui.js";
import { Markdown } from "../markdown.js";
import { lasted, number, t } from "../words.js";
import { ApprovalCard, PasswordCard } from "./approval_card.js";
import { ToolCard } from "./tool_card.js";

const STAGES = /** @type {Record<string, string>} */ ({
  queued: "waiting for its turn", recalling: "remembering", planning: "planning", running_tool: "using a tool", answering: "answering",
  waiting_for_approval: "waits for your permission", waiting_for_password: "waits for a password", waiting_for_answer: "waits for your answer",
});

/** @param {{run: import("../run.js").Run}} props */
export function RunView({ run }) {
  return html`<div class="run" aria-busy=${!run.done}>
    ${run.parts.map((part) => html`<${PartView} key=${part.key} part=${part} run=${run} />`)}
    ${!run.done && html`<p class="stage" role="status"><span class="pulse" aria-hidden="true"></span>${t(STAGES[run.stage ?? ""] ?? "working")}</p>`}
    ${run.done && run.status !== "completed" && html`<p class=${run.status === "stopped" ? "faint" : "wrong"} role="alert">
      ${run.status === "stopped" ? t("Stopped. This is what there was.") : run.detail || t("The run failed.")}</p>`}
    ${run.done && html`<${Figures} run=${run} />`}
  </div>`;
}

/** @param {{part: import("../run.js").Part, run: import("../run.js").Run}} props */
function PartView({ part, run }) {
  switch (part.kind) {
    case "text":
      return html`<${Markdown} text=${part.text} />`;
    case "reasoning":
      return html`<${Reasoning} text=${part.text} going=${!run.done && run.parts[run.parts.length - 1] === part} />`;
    case "tool":
      return part.name ? html`<${ToolCard} tool=${part} />` : null;
    case "ask":
      return html`<${Asked} part=${part} run=${run} />`;
    case "note":
      return html`<${Note} note=${part} />`;
  }
}

/** @param {{part: import("../run.js").Ask, run: import("../run.js").Run}} props */
function Asked({ part, run }) {
  if (part.decision === null && !run.done) return html`<${ApprovalCard} approval=${part.asked} task="" />`;
  if (part.password === "wanted" && !run.done) {
    return html`<${PasswordCard} task=${run.task} approval=${part.id} command=${part.asked.shown} />`;
  }
  if (part.decision === null) return null;
  const { decision, by, words } = part.decision;
  return html`<p class="faint decided">${t(decision)} · ${String(by ?? "").replace(/^person:/, "")}${words ? ` · “${words}”` : ""}</p>`;
}

/** @param {{text: string, going: boolean}} props */
function Reasoning({ text, going }) {
  const [open, setOpen] = useState(/** @type {boolean | null} */ (null));
  const shown = open ?? going;
  return html`<section class="reasoning">
    <button class="quiet small" aria-expanded=${shown} onClick=${() => setOpen(!shown)}>${shown ? "▾" : "▸"} ${t("Reasoning")}</button>
    ${shown && html`<div class="thought">${text}</div>`}
  </section>`;
}

/** @param {{note: import("../run.js").Note}} props */
function Note({ note }) {
  const { name, data } = note;
  if (name === "memory_used") {
    return html`<details class="note"><summary>${t("Remembered: {n}", { n: data.memories.length })}</summary>
      <ul>${data.memories.map((/** @type {any} */ m) => html`<li>${m.text} <a href=${`#/memory/${m.id}`}>${t("correct")}</a></li>`)}</ul></details>`;
  }
  const said = noted(name, data);
  return said ? html`<p class="note">${said}</p>` : null;
}

/** @param {string} name @param {any} data */
function noted(name, data) {
  if (name === "skill_activated") return t("Skill: {name}", { name: data.name });
  if (name === "attempt_superseded") return `${t("Taken back; another attempt follows.")} ${data.reason}`;
  if (name === "heeded") return `${t("Heeded:")} ${data?.text ?? ""}`;
  if (name === "stream.gap") return t("What came before was trimmed.");
  if (name === "stream.reset") return t("The log was restored; this begins anew.");
  return "";
}

/** @param {{run: import("../run.js").Run}} props */
function Figures({ run }) {
  const { stats, usage, model } = run;
  if (!stats) return null;
  const parts = [
    model,
    stats.tokens ? t("{n} tokens", { n: number(stats.tokens) }) : "",
    stats.avg_tokens_per_second ? t("{n} per second", { n: stats.avg_tokens_per_second.toFixed(1) }) : "",
    lasted(stats.duration_ms),
    usage?.input_tokens ? t("{n} read", { n: number(usage.input_tokens) }) : "",
  ];
  return html`<p class="figures"><span>${parts.filter(Boolean).join(" · ")}</span> <a href=${`#/run/${run.task}`}>${t("details")}</a></p>`;
}
