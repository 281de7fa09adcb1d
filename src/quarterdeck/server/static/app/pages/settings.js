// Who answers here, how to connect a stronger model, and what this server is.
import { about } from "../news.js";
import { Code } from "../markdown.js";
import { Head } from "../parts/listing.js";
import { html } from "../ui.js";
import { t } from "../words.js";

export function Settings() {
  const told = about.value;
  return html`<div class="page narrow">
    <${Head} title=${t("Settings")} about=${t("The server reads its settings from the environment when it starts.")} />
    ${told && html`<dl class="facts tall">
      <dt>${t("Who answers")}</dt><dd>${told.model ?? t("nobody yet")}</dd>
      <dt>${t("Found by")}</dt><dd>${told.source}</dd>
      <dt>${t("Data")}</dt><dd><code>${told.storage}</code></dd>
      <dt>${t("Version")}</dt><dd>${told.version}</dd></dl>
      ${told.advice && html`<p>${told.advice}</p>`}`}
    <h2>${t("Connect a stronger model")}</h2>
    <${Code} lang="sh" text=${"export OPENAI_API_KEY=…       # with OPENAI_BASE_URL for any compatible server\nexport ANTHROPIC_API_KEY=…\nollama serve                  # or LM Studio, llama.cpp, vLLM: found by itself\nmake run"} />
    <p><a href="/openapi.json">${t("The whole interface, as a document")}</a></p>
  </div>`;
}
