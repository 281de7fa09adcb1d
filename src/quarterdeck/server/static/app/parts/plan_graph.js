// A plan drawn: what depends on what, who has it, how it stands.
import { columnsOf } from "../team.js";
import { cls, html } from "../ui.js";
import { t } from "../words.js";

const WIDE = 200;
const HIGH = 76;
const ACROSS = 56;
const DOWN = 20;

/** @param {{run: import("../team.js").TeamRun, chosen: string, choose: (id: string) => void}} props */
export function PlanGraph({ run, chosen, choose }) {
  const columns = columnsOf(run.phases);
  /** @type {Map<number, number>} */
  const heights = new Map();
  /** @type {Map<string, {x: number, y: number}>} */
  const places = new Map();
  for (const phase of run.phases) {
    const column = columns.get(phase.id) ?? 0;
    const row = heights.get(column) ?? 0;
    heights.set(column, row + 1);
    places.set(phase.id, { x: column * (WIDE + ACROSS), y: row * (HIGH + DOWN) });
  }
  const width = (Math.max(0, ...columns.values()) + 1) * (WIDE + ACROSS) - ACROSS;
  const height = Math.max(1, ...heights.values()) * (HIGH + DOWN) - DOWN;
  const lines = run.phases.flatMap((phase) => phase.depends_on.map((before) => [before, phase.id]));
  return html`<div class="graph" role="group" aria-label=${t("Plan")}><div class="plan" style=${{ width: `${width}px`, height: `${height}px` }}>
    <svg width=${width} height=${height} aria-hidden="true">${lines.map(([before, after]) => {
      const from = places.get(before);
      const to = places.get(after);
      if (!from || !to) return null;
      const [x1, y1, x2, y2] = [from.x + WIDE, from.y + HIGH / 2, to.x, to.y + HIGH / 2];
      return html`<path key=${`${before}-${after}`} d=${`M${x1} ${y1} C${x1 + ACROSS / 2} ${y1} ${x2 - ACROSS / 2} ${y2} ${x2} ${y2}`} />`;
    })}</svg>
    ${run.phases.map((phase) => {
      const at = places.get(phase.id) ?? { x: 0, y: 0 };
      return html`<button key=${phase.id} class=${cls("phase", phase.status, phase.kind, chosen === phase.id && "here")} aria-pressed=${chosen === phase.id}
        style=${{ left: `${at.x}px`, top: `${at.y}px`, width: `${WIDE}px`, height: `${HIGH}px` }} onClick=${() => choose(phase.id)}>
        <strong>${phase.kind === "debate" ? `⚖ ${phase.topic || phase.name}` : phase.name}</strong>
        <small><span class="dot" aria-hidden="true"></span>${t(phase.status)} · ${phase.expert}</small></button>`;
    })}
  </div></div>`;
}
