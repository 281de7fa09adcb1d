// Markdown as elements, by way of tokens: no HTML is ever made from text, so nothing in it can act.
import { Marked } from "../vendor/marked.js";
import { html, Component } from "./ui.js";
import { Copy } from "./parts/copy.js";

const marked = new Marked({ gfm: true, breaks: true });
const LONGEST_BLOCK = 60_000;
const DEEPEST = 24;

/** Where whole blocks end that will not change any more. @param {string} text @param {number} from */
function settled(text, from) {
  let fence = "";
  let cut = from;
  let at = from;
  while (at < text.length) {
    let end = text.indexOf("\n", at);
    if (end < 0) break;
    const line = text.slice(at, end);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line);
    if (mark && !fence) fence = mark[1];
    else if (mark && fence && mark[1][0] === fence[0] && mark[1].length >= fence.length) fence = "";
    else if (!fence && line.trim() === "" && !/^(\s|[-*+>]|\d+[.)])/.test(text.slice(end + 1, end + 4))) cut = end + 1;
    at = end + 1;
  }
  return cut;
}

/** Text that grows: what is settled is looked at once, only the last block again and again. */
export class Markdown extends Component {
  /** @type {string[]} */
  blocks = [];
  done = 0;
  last = "";

  /** @param {{text: string}} next */
  shouldComponentUpdate(next) {
    return next.text !== this.props.text;
  }

  /** @param {{text: string}} props */
  render({ text }) {
    if (!text.startsWith(this.last)) {
      this.blocks = [];
      this.done = 0;
    }
    this.last = text;
    const cut = settled(text, this.done);
    if (cut > this.done) {
      this.blocks.push(text.slice(this.done, cut));
      this.done = cut;
    }
    const rest = text.slice(this.done);
    return html`<div class="prose">
      ${this.blocks.map((block, place) => html`<${Block} key=${place} text=${block} />`)}
      ${rest && html`<${Block} key="rest" text=${rest} />`}
    </div>`;
  }
}

class Block extends Component {
  /** @param {{text: string}} next */
  shouldComponentUpdate(next) {
    return next.text !== this.props.text;
  }

  /** @param {{text: string}} props */
  render({ text }) {
    if (text.length > LONGEST_BLOCK) return html`<pre class="plain">${text}</pre>`;
    let tokens;
    try {
      tokens = marked.lexer(text);
    } catch {
      return html`<p>${text}</p>`;
    }
    return tokens.map((token) => block(token, 0));
  }
}

/** @param {import("../vendor/marked.js").Token} token @param {number} deep @returns {any} */
function block(token, deep) {
  if (deep > DEEPEST) return token.raw;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return html`<${`h${Math.min(6, token.depth + 1)}`}>${inline(token.tokens, deep + 1)}<//>`;
    case "paragraph":
      return html`<p>${inline(token.tokens, deep + 1)}</p>`;
    case "text":
      return token.tokens ? inline(token.tokens, deep + 1) : plain(token.text);
    case "code":
      return html`<${Code} text=${token.text} lang=${String(token.lang ?? "").slice(0, 40)} />`;
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens, deep + 1)}</blockquote>`;
    case "list":
      return html`<${token.ordered ? "ol" : "ul"} start=${token.ordered && token.start !== 1 ? Number(token.start) : undefined}>
        ${token.items.map((/** @type {any} */ item) => html`<li>
          ${item.task && html`<input type="checkbox" disabled checked=${Boolean(item.checked)} />`}${blocks(item.tokens, deep + 1)}
        </li>`)}
      <//>`;
    case "table":
      return table(token, deep + 1);
    case "hr":
      return html`<hr />`;
    default:
      return html`<p>${plain(token.raw)}</p>`;
  }
}

/** @param {import("../vendor/marked.js").Token[] | undefined} tokens @param {number} deep */
const blocks = (tokens, deep) => (tokens ?? []).map((token) => block(token, deep));

/** @param {import("../vendor/marked.js").Token} token @param {number} deep */
function table(token, deep) {
  const cell = (/** @type {any} */ c, /** @type {string} */ tag) => html`<${tag} class=${c.align ? `to-${c.align}` : ""}>${inline(c.tokens, deep)}<//>`;
  return html`<div class="wide"><table>
    <thead><tr>${token.header.map((/** @type {any} */ c) => cell(c, "th"))}</tr></thead>
    <tbody>${token.rows.map((/** @type {any[]} */ row) => html`<tr>${row.map((c) => cell(c, "td"))}</tr>`)}</tbody>
  </table></div>`;
}

/** @param {import("../vendor/marked.js").Token[] | undefined} tokens @param {number} deep @returns {any} */
function inline(tokens, deep) {
  if (!tokens || deep > DEEPEST) return (tokens ?? []).map((token) => token.raw);
  return tokens.map((token) => {
    switch (token.type) {
      case "strong":
        return html`<strong>${inline(token.tokens, deep + 1)}</strong>`;
      case "em":
        return html`<em>${inline(token.tokens, deep + 1)}</em>`;
      case "del":
        return html`<del>${inline(token.tokens, deep + 1)}</del>`;
      case "codespan":
        return html`<code>${plain(token.text)}</code>`;
      case "br":
        return html`<br />`;
      case "link":
        return link(token, deep);
      case "image":
        // Never fetched: to load a picture is to tell its server that the text was read.
        return html`<span class="inert">🖼 ${plain(token.text) || "image"} <small>${shortened(token.href)}</small></span>`;
      case "text":
        return token.tokens ? inline(token.tokens, deep + 1) : plain(token.text);
      default:
        return plain(token.type === "escape" ? token.text : token.raw);
    }
  });
}

/** Only addresses of the web are links, and where one leads is told. @param {import("../vendor/marked.js").Token} token @param {number} deep */
function link(token, deep) {
  const to = String(token.href ?? "");
  const said = inline(token.tokens, deep + 1);
  if (!/^https?:\/\//i.test(to)) return html`<span class="inert">${said} <small>${shortened(to)}</small></span>`;
  const told = token.text === to ? null : html` <small class="where">${hostOf(to)}</small>`;
  return html`<a href=${to} target="_blank" rel="noopener noreferrer nofollow" title=${to}>${said}</a>${told}`;
}

const ENTITIES = /** @type {Record<string, string>} */ ({ "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" });
/** Tokens carry some characters as entities, for those who make HTML of them. @param {unknown} text */
const plain = (text) => String(text ?? "").replace(/&(?:lt|gt|quot|#39|amp);/g, (found) => ENTITIES[found]);

/** @param {string} to */
const shortened = (to) => (to && to.length > 80 ? `${to.slice(0, 79)}…` : to);

/** @param {string} to */
function hostOf(to) {
  try {
    return new URL(to).host;
  } catch {
    return "";
  }
}

/** @param {{text: string, lang?: string}} props */
export const Code = ({ text, lang }) => html`<figure class="code">
  <figcaption><span>${lang || ""}</span><${Copy} text=${text} /></figcaption>
  <pre tabindex="0"><code>${text}</code></pre>
</figure>`;
