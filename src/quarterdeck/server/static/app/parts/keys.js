// The keyboard: every room has a letter, and `?` shows them all.
import { go } from "../place.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { t } from "../words.js";

/** What follows `g`. @type {Record<string, [string, string]>} */
const ROOMS = {
  c: ["", "Conversations"], a: ["approvals", "Approvals"], r: ["runs", "Runs"], t: ["teams", "Teams"], b: ["board", "Projects"], m: ["memory", "Memory"], s: ["skills", "Skills"],
  u: ["usage", "Usage"], l: ["audit", "Audit"], ",": ["settings", "Settings"],
};

const writes = (/** @type {any} */ at) => at && (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || at.isContentEditable);

export function Keys() {
  const [shown, setShown] = useState(false);
  const box = useRef();
  useEffect(() => {
    let led = false;
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") setShown(false);
      if (writes(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (led && event.key in ROOMS) go(ROOMS[event.key][0]);
      else if (event.key === "?") setShown((now) => !now);
      else if (event.key === "/") focus(event, "input[type=search], #composer");
      else if (event.key === "n") (go(""), focus(event, "#composer"));
      led = !led && event.key === "g";
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  useEffect(() => {
    if (shown) box.current?.focus();
  }, [shown]);
  if (!shown) return null;
  const lines = Object.entries(ROOMS).map(([key, [, said]]) => [`g ${key}`, t(said)]);
  const others = [["/", t("Search")], ["n", t("New conversation")], ["Enter", t("Send")], ["Esc", t("Stop the answer")], ["?", t("Show the keys")]];
  return html`<div class="veil" onClick=${() => setShown(false)}>
    <div class="sheet" role="dialog" aria-modal="true" aria-label=${t("Keys")} tabindex="-1" ref=${box}>
      <h2>${t("Keys")}</h2>
      <dl>${[...lines, ...others].map(([key, said]) => html`<dt><kbd>${key}</kbd></dt><dd>${said}</dd>`)}</dl>
    </div>
  </div>`;
}

/** @param {Event} event @param {string} selector */
function focus(event, selector) {
  event.preventDefault();
  setTimeout(() => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus());
}
