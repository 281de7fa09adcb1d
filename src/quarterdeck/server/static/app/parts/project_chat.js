// The chat of a project: what was said, what agents are saying right now, and who a message would wake.
import { freshKey, get, page, post } from "../api.js";
import { Markdown } from "../markdown.js";
import { heed } from "../news.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { t, when } from "../words.js";
import { SpeechCard } from "./speech.js";

const LOOK_MS = 250;

/** @param {{project: any, members: any[], speeches: import("../hub.js").Speech[]}} props */
export function ProjectChat({ project, members, speeches }) {
  const [messages, setMessages] = useState(/** @type {any[]} */ ([]));
  const [older, setOlder] = useState(/** @type {string | null} */ (null));
  const [words, setWords] = useState("");
  const [woken, setWoken] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  const end = useRef();
  const path = `/api/v1/chats/${project.chat_id}/messages?order=desc&limit=100`;
  useEffect(() => heed((stream) => stream === `project/${project.id}`, async () => {
    try {
      const told = await page(path);
      setMessages((now) => merged(now, told.lines));
      setOlder((now) => now ?? told.next);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  }), [project.id]);
  useLayoutEffect(() => end.current?.scrollIntoView({ block: "end" }), [messages.length, speeches.length]);
  useEffect(() => {
    if (!words.trim()) return void setWoken(null);
    const timer = setTimeout(async () => {
      try {
        setWoken(await get(`/api/v1/chats/${project.chat_id}/triggers?content=${encodeURIComponent(words.slice(0, 2000))}`));
      } catch { /* a preview that cannot be had is not shown */ }
    }, LOOK_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const say = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const said = words.trim();
    if (!said) return;
    setWrong("");
    try {
      const made = await post(`/api/v1/chats/${project.chat_id}/messages`, { content: said }, freshKey());
      setWords("");
      setMessages((now) => merged(now, [made]));
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const typed = /(^|\s)@([\w-]*)$/.exec(words);
  const names = typed ? members.filter((member) => member.slug.startsWith(typed[2])).slice(0, 6) : [];
  const wakes = (woken?.members ?? []).filter((/** @type {any} */ one) => one.wakes);
  return html`<div class="talk chat">
    <div class="scroller"><div class="column" role="log">
      ${older && html`<button class="quiet" onClick=${async () => { const rest = await page(older); setMessages((now) => merged(now, rest.lines)); setOlder(rest.next); }}>${t("More")}</button>`}
      ${!messages.length && html`<p class="empty faint">${t("Say something to everybody in the project. @name calls somebody.")}</p>`}
      ${messages.map((one) => html`<article class="message" key=${one.id}><header><strong>@${one.author.slug}</strong>${one.author.type === "agent" && html` <small class="faint">⚙ ${t("agent")}</small>`}
        <small class="faint">${when(one.at)}</small></header><${Markdown} text=${one.content} /></article>`)}
      ${speeches.map((one) => html`<${SpeechCard} key=${one.id} speech=${one} />`)}
      <span ref=${end}></span>
    </div></div>
    <form class="composer" onSubmit=${say}>
      ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
      ${names.length > 0 && html`<div class="chips" role="listbox" aria-label=${t("Members")}>${names.map((member) => html`<button type="button" key=${member.id}
        onClick=${() => setWords(words.replace(/@[\w-]*$/, `@${member.slug} `))}>@${member.slug}</button>`)}</div>`}
      <textarea id="composer" rows="2" value=${words} placeholder=${t("Write a message…")} aria-label=${t("Message")} onInput=${(/** @type {any} */ e) => setWords(e.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === "Enter" && !e.shiftKey && !e.isComposing && say(e)}></textarea>
      <div class="row"><small class="faint grow" role="status">${wakes.length ? t("Wakes: {names}", { names: wakes.map((/** @type {any} */ one) => `@${one.member.slug}`).join(", ") }) : woken?.held ? t("Wakes nobody: agents have talked long enough without a person.") : ""}</small>
        <button class="primary" disabled=${!words.trim()}>${t("Send")}</button></div>
    </form>
  </div>`;
}

/** Old and new lines, each once, in order. @param {any[]} now @param {any[]} more */
function merged(now, more) {
  const by = new Map([...now, ...more].map((one) => [one.id, one]));
  return [...by.values()].sort((a, b) => a.seq - b.seq);
}
