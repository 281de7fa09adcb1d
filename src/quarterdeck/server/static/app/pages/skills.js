// Skills: short guides to kinds of work, and who vouches for them.
import { get } from "../api.js";
import { Markdown } from "../markdown.js";
import { Head } from "../parts/listing.js";
import { html, useEffect, useState } from "../ui.js";
import { t } from "../words.js";

const ORIGINS = /** @type {Record<string, string>} */ ({ built_in: "built in", user: "yours", workspace: "of a workspace" });

/** @param {{id: string}} props */
export function Skills({ id }) {
  const [lines, setLines] = useState(/** @type {any[] | null} */ (null));
  const [one, setOne] = useState(/** @type {any} */ (null));
  useEffect(() => void get("/v1/skills").then(setLines, () => setLines([])), []);
  useEffect(() => {
    setOne(null);
    if (id) get(`/v1/skills/${encodeURIComponent(id)}`).then(setOne, () => {});
  }, [id]);
  return html`<div class="page narrow">
    <${Head} title=${t("Skills")} about=${t("A skill that fits a message is put before the agent. Add your own as folders with a SKILL.md.")} />
    ${lines && !lines.length && html`<p class="empty faint">${t("No skills.")}</p>`}
    ${(lines ?? []).map((line) => html`<section class="card" key=${line.name}>
      <h3><a href=${line.name === id ? "#/skills" : `#/skills/${encodeURIComponent(line.name)}`}>${line.name}</a> <small class="faint">${t(ORIGINS[line.origin] ?? line.origin)}</small></h3>
      <p>${line.description}</p>
      ${one && one.name === line.name && html`<${Markdown} text=${one.body} />`}</section>`)}
  </div>`;
}
