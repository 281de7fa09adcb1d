// A list that is read page by page and stays true while things change.
import { page } from "../api.js";
import { heed } from "../news.js";
import { html, useEffect, useState } from "../ui.js";
import { t } from "../words.js";

/**
 * @param {string} path @param {(name: string) => boolean} about
 * @returns {{lines: any[], next: string | null, more: () => Promise<void>, look: () => Promise<void>, ready: boolean, wrong: string}}
 */
export function useListing(path, about) {
  const [state, setState] = useState({ lines: /** @type {any[]} */ ([]), next: /** @type {string | null} */ (null), ready: false, wrong: "" });
  const look = async () => {
    try {
      const first = await page(path);
      setState({ lines: first.lines, next: first.next, ready: true, wrong: "" });
    } catch (why) {
      setState((now) => ({ ...now, ready: true, wrong: /** @type {Error} */ (why).message }));
    }
  };
  useEffect(() => heed(about, look), [path]);
  const more = async () => {
    if (!state.next) return;
    const rest = await page(state.next);
    setState((now) => ({ ...now, lines: [...now.lines, ...rest.lines], next: rest.next }));
  };
  return { ...state, more, look };
}

/** @param {{list: ReturnType<typeof useListing>, empty: string, children?: any}} props */
export function Listing({ list, empty, children }) {
  return html`
    ${list.wrong && html`<p class="wrong" role="alert">${list.wrong}</p>`}
    ${list.ready && !list.lines.length && !list.wrong && empty && html`<p class="empty faint">${empty}</p>`}
    ${children}
    ${list.next && html`<p><button class="quiet" onClick=${list.more}>${t("More")}</button></p>`}`;
}

/** @param {{title: string, about?: string, children?: any}} props */
export const Head = ({ title, about, children }) => html`<header class="head">
  <div class="grow"><h1>${title}</h1>${about && html`<p class="faint">${about}</p>`}</div>${children}
</header>`;
