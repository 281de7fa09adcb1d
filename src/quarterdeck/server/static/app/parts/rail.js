// The way around: every room, what waits there, the language and the light.
import { about, line, pending } from "../news.js";
import { signOut } from "./sign_in.js";
import { html, signal, useState, cls } from "../ui.js";
import { LANGUAGES, language, speak, t } from "../words.js";

/** Name, what it is called, the lines of its picture (24 by 24). @type {[string, string, string][]} */
export const ROOMS = [
  ["", "Conversations", "M4 5h16v11H9l-5 4z"],
  ["approvals", "Approvals", "M5 12l5 5L20 7"],
  ["runs", "Runs", "M7 5l12 7-12 7z"],
  ["teams", "Teams", "M12 7a3 3 0 100-6 3 3 0 000 6zM5 22v-3a7 7 0 0114 0v3M12 12v10"],
  ["board", "Projects", "M4 5h4v14H4zM10 5h4v9h-4zM16 5h4v11h-4z"],
  ["memory", "Memory", "M12 4a8 8 0 108 8M12 8v4l3 2"],
  ["experience", "Experience", "M12 3l3 6 6 .9-4.5 4.3 1 6.3L12 17.5l-5.6 3 1-6.3L3 9.9 9 9z"],
  ["skills", "Skills", "M5 4h11l3 3v13H5zM9 10h6M9 14h6"],
  ["audit", "Audit", "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z"],
  ["usage", "Usage", "M5 20V10M12 20V4M19 20v-7"],
  ["tenants", "Tenants", "M4 20V9l8-5 8 5v11M9 20v-6h6v6"],
  ["people", "People and tokens", "M9 12a4 4 0 100-8 4 4 0 000 8zM2 21a7 7 0 0114 0M17 11a3 3 0 100-6M22 20a6 6 0 00-5-6"],
  ["settings", "Settings", "M4 7h10M18 7h2M4 17h2M10 17h10M14 4v6M6 14v6"],
];
const FIRST = 4;

const LIGHT = "quarterdeck.light";
const light = signal(localStorage.getItem(LIGHT) ?? "auto");
light.subscribe((chosen) => {
  if (chosen === "auto") delete document.documentElement.dataset.light;
  else document.documentElement.dataset.light = chosen;
  localStorage.setItem(LIGHT, chosen);
});

/** @param {{here: string}} props */
export function Rail({ here }) {
  const [open, setOpen] = useState(false);
  return html`<nav class=${cls("rail", open && "open")} aria-label=${t("Rooms")}>
    <a class="brand" href="#/" title="Quarterdeck"><img src="/static/icon.svg" alt="" width="28" height="28" /><span>Quarterdeck</span></a>
    ${ROOMS.map(([name, said, drawn], place) => html`<a key=${name} class=${cls("room", name === here && "here", place >= FIRST && "later")}
      href=${`#/${name}`} aria-current=${name === here ? "page" : undefined} onClick=${() => setOpen(false)}>
      <svg viewBox="0 0 24 24" aria-hidden="true"><path d=${drawn} /></svg><span>${t(said)}</span>
      ${name === "approvals" && pending.value.length > 0 && html`<b class="badge">${pending.value.length}</b>`}</a>`)}
    <button class="room more" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 7h16M4 12h16M4 17h16" /></svg><span>${t("More")}</span></button>
    <span class="grow"></span>
    <div class="foot">
      <select aria-label=${t("Language")} value=${language.value} onChange=${(/** @type {any} */ e) => speak(e.target.value)}>
        ${Object.entries(LANGUAGES).map(([tag, name]) => html`<option value=${tag}>${name}</option>`)}
      </select>
      <select aria-label=${t("Light")} value=${light.value} onChange=${(/** @type {any} */ e) => (light.value = e.target.value)}>
        <option value="auto">${t("as the system")}</option><option value="light">${t("light")}</option><option value="dark">${t("dark")}</option>
      </select>
      ${about.value?.guarded && html`<button class="quiet small" onClick=${signOut}>${t("Sign out")}</button>`}
      <small class="faint" title=${about.value?.model ?? ""}><span class=${cls("dot", line.value === "live" ? "good" : "bad")} aria-hidden="true"></span>
        ${line.value === "live" ? about.value?.model ?? t("connected") : t("not connected")}</small>
    </div>
  </nav>`;
}
