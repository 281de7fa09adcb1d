// Text as it is, with what cannot be seen made visible: nobody should allow what he cannot read.
import { html } from "../ui.js";

// Controls, format characters (bidi marks, joiners, zero widths), odd blanks, private and unassigned ones.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\u00a0\u2000-\u200a\u202f\u205f\u3000]/gu;

/** @param {string} text */
export function visible(text) {
  return text.replace(UNSEEN, (found) => (found === "\n" ? found : `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`));
}

/** @param {{text: string}} props */
export const Shown = ({ text }) => html`<pre class="shown" tabindex="0">${visible(text)}</pre>`;
