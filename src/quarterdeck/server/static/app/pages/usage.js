// What was used, day by day, drawn.
import { get } from "../api.js";
import { heed } from "../news.js";
import { Head } from "../parts/listing.js";
import { html, useEffect, useState } from "../ui.js";
import { language, money, number, t } from "../words.js";

const HEIGHT = 160;
const SHOWN = 30;

export function Usage() {
  const [days, setDays] = useState(/** @type {any[] | null} */ (null));
  useEffect(() => heed((name) => name.startsWith("conversation/"), () => get(`/v1/usage?days=${SHOWN}`).then(setDays, () => {})), []);
  if (!days) return null;
  const tokens = days.reduce((sum, day) => sum + day.input_tokens + day.output_tokens, 0);
  const priced = days.filter((day) => day.usd !== null);
  return html`<div class="page">
    <${Head} title=${t("Usage")} about=${t("The last {n} days, by UTC.", { n: SHOWN })} />
    <dl class="facts">
      <dt>${t("Calls")}</dt><dd>${number(days.reduce((sum, day) => sum + day.calls, 0))}</dd>
      <dt>${t("Tokens")}</dt><dd>${number(tokens)}</dd>
      <dt>${t("Cost")}</dt><dd>${money(priced.length ? priced.reduce((sum, day) => sum + day.usd, 0) : null)}</dd>
    </dl>
    ${days.length ? html`<${Bars} days=${days} />` : html`<p class="empty faint">${t("Nothing was used yet.")}</p>`}
    <div class="wide"><table><thead><tr><th>${t("Day")}</th><th>${t("Model")}</th><th>${t("Calls")}</th><th>${t("Read")}</th><th>${t("Written")}</th><th>${t("Cost")}</th></tr></thead>
      <tbody>${days.flatMap((day) => day.models.map((/** @type {any} */ m) => html`<tr key=${day.day + m.model}>
        <td class="faint">${day.day}</td><td>${m.model}</td><td>${number(m.calls)}</td><td>${number(m.input_tokens)}</td><td>${number(m.output_tokens)}</td><td>${money(m.usd)}</td></tr>`))}</tbody></table></div>
  </div>`;
}

/** @param {{days: any[]}} props */
function Bars({ days }) {
  const by = new Map(days.map((day) => [day.day, day]));
  const dates = Array.from({ length: SHOWN }, (_, back) => new Date(Date.now() - (SHOWN - 1 - back) * 86_400_000).toISOString().slice(0, 10));
  const most = Math.max(1, ...days.map((day) => day.input_tokens + day.output_tokens));
  const wide = 100 / SHOWN;
  return html`<figure class="bars">
    <svg viewBox=${`0 0 100 ${HEIGHT / 4}`} preserveAspectRatio="none" role="img" aria-label=${t("Tokens by day")}>
      ${dates.map((date, place) => {
        const day = by.get(date);
        if (!day) return null;
        const read = (day.input_tokens / most) * (HEIGHT / 4);
        const written = (day.output_tokens / most) * (HEIGHT / 4);
        return html`<g key=${date}><title>${date}: ${number(day.input_tokens)} / ${number(day.output_tokens)}</title>
          <rect class="read" x=${place * wide + 0.3} width=${wide - 0.6} y=${HEIGHT / 4 - read} height=${read} />
          <rect class="written" x=${place * wide + 0.3} width=${wide - 0.6} y=${HEIGHT / 4 - read - written} height=${written} /></g>`;
      })}
    </svg>
    <figcaption class="row faint"><span>${new Date(dates[0]).toLocaleDateString(language.value)}</span><span class="grow"></span>
      <span class="key read"></span>${t("Read")} <span class="key written"></span>${t("Written")}<span class="grow"></span><span>${t("today")}</span></figcaption>
  </figure>`;
}
