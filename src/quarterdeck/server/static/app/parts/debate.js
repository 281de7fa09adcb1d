// A debate: what each said, in order, and what it came to.
import { Markdown } from "../markdown.js";
import { html } from "../ui.js";
import { useRun } from "../watch.js";
import { answerOf } from "../run.js";
import { t } from "../words.js";

const WORKS = /** @type {Record<string, string>} */ ({ frame: "the question", position: "position", rebuttal: "rebuttal", verdict: "verdict" });

/** @param {{parts: import("../team.js").Part[], verdict: any}} props */
export const Debate = ({ parts, verdict }) => html`<section class="debate">
  ${parts.map((part) => html`<article class="message" key=${part.key}><header><strong>${part.expert}</strong>
    <small class="faint">${t(WORKS[part.work] ?? part.work)}${part.round ? ` · ${t("round {n}", { n: part.round })}` : ""}</small></header>
    ${part.end === null ? html`<${Live} run=${part.run} />` : html`<${Markdown} text=${part.text} />`}</article>`)}
  ${verdict && html`<div class="card here"><h3>${t("verdict")}</h3><${Markdown} text=${verdict.verdict} />
    ${verdict.reasons.length > 0 && html`<h4>${t("Reasons")}</h4><ul>${verdict.reasons.map((/** @type {string} */ one) => html`<li>${one}</li>`)}</ul>`}
    ${verdict.dissent.length > 0 && html`<h4>${t("Dissent")}</h4><ul>${verdict.dissent.map((/** @type {string} */ one) => html`<li>${one}</li>`)}</ul>`}
    ${verdict.confidence !== null && html`<p class="faint">${t("Confidence: {n} %", { n: Math.round(verdict.confidence * 100) })}</p>`}</div>`}
</section>`;

/** @param {{run: string | null}} props */
function Live({ run }) {
  const seen = useRun(run);
  return seen ? html`<${Markdown} text=${answerOf(seen)} />` : html`<span class="pulse"></span>`;
}
