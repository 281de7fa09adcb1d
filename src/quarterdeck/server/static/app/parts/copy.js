// A button that puts a text where it can be pasted from.
import { html, useState } from "../ui.js";
import { t } from "../words.js";

/** @param {{text: string}} props */
export function Copy({ text }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch { /* the browser does not allow it: the text can still be marked */ }
  };
  return html`<button class="quiet small" onClick=${copy}>${done ? t("Copied") : t("Copy")}</button>`;
}
