// What an agent is saying right now.
import { Markdown } from "../markdown.js";
import { html } from "../ui.js";
import { t } from "../words.js";
import { visible } from "./shown.js";

/** @param {{speech: import("../hub.js").Speech}} props */
export const SpeechCard = ({ speech }) => html`<article class="message speech">
  <header><strong>@${speech.slug}</strong> <small class="faint">${speech.state === "interrupted" ? t("was interrupted") : t("is speaking")}</small>
    ${speech.run && html` <a class="faint" href=${`#/run/${speech.run}`}>${t("run")}</a>`}</header>
  ${speech.tools.map((tool, place) => html`<p class="note" key=${place}>${tool.tool_result?.error ? "✕" : "✓"} <code>${visible(tool.tool_name)}</code></p>`)}
  <${Markdown} text=${speech.text} />
  ${speech.state === "speaks" && html`<span class="pulse" aria-hidden="true"></span>`}
</article>`;
