// When what happened in a run: each call of a model, each tool, each wait for people, on one line of time.
import { html } from "../ui.js";
import { lasted, t } from "../words.js";

/** @typedef {{kind: string, said: string, from: number, to: number | null, bad?: boolean}} Span */

/** The spans of a run, from its events. @param {any[]} events @returns {Span[]} */
export function spansOf(events) {
  /** @type {Map<string, Span>} */
  const open = new Map();
  /** @type {Span[]} */
  const spans = [];
  const begin = (/** @type {string} */ key, /** @type {string} */ kind, /** @type {string} */ said, /** @type {number} */ at) => {
    const span = { kind, said, from: at, to: /** @type {number | null} */ (null) };
    spans.push(span);
    open.set(key, span);
  };
  const end = (/** @type {string} */ key, /** @type {number} */ at, bad = false) => {
    const span = open.get(key);
    if (span) Object.assign(span, { to: at, bad });
    open.delete(key);
  };
  for (const { event_type: name, payload: data, at } of events) {
    if (name === "attempt_started") begin(`m${data.attempt}`, "model", `${t(data.role)} · ${data.model}`, at);
    else if (name === "attempt_finished") end(`m${data.attempt}`, at);
    else if (name === "attempt_broke") end(`m${data.attempt}`, at, true);
    else if (name === "tool_call_started") begin(`t${data.call_id}`, "tool", data.tool, at);
    else if (name === "tool_call_finished") end(`t${data.call_id}`, at, !data.ok);
    else if (name === "tool_approval_requested") begin(`a${data.approval_id}`, "wait", `${t("waits for your answer")} · ${data.tool}`, at);
    else if (name === "approval_decided") end(`a${data.approval}`, at);
    else if (name === "done") for (const key of [...open.keys()]) end(key, at, true);
  }
  return spans;
}

/** @param {{spans: Span[], from: number, to: number}} props */
export function Timeline({ spans, from, to }) {
  const whole = Math.max(0.001, to - from);
  return html`<figure class="timeline" aria-label=${t("Timeline")}>
    ${spans.map((span, place) => {
      const end = span.to ?? to;
      const style = { "margin-left": `${((span.from - from) / whole) * 100}%`, width: `${Math.max(0.4, ((end - span.from) / whole) * 100)}%` };
      return html`<div class="track" key=${place}><span class="said">${span.said}</span>
        <div class="lane"><div class=${`span ${span.kind} ${span.bad ? "bad" : ""}`} style=${style} title=${lasted((end - span.from) * 1000)}></div></div>
        <span class="took faint">${lasted((end - span.from) * 1000)}</span></div>`;
    })}
  </figure>`;
}
