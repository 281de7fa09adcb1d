// Conversations: the list, and one of them with its live answer.
import { get, page, Trouble } from "../api.js";
import { Markdown } from "../markdown.js";
import { mint } from "../mint.js";
import { about, heed } from "../news.js";
import { Composer, send } from "../parts/composer.js";
import { Copy } from "../parts/copy.js";
import { RunView } from "../parts/run_view.js";
import { go } from "../place.js";
import { cls, html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { pastRun, useRun } from "../watch.js";
import { t, when } from "../words.js";

const WINDOW = 60;

/** @param {{id: string}} props */
export function Conversations({ id }) {
  const [fresh, setFresh] = useState(mint);
  useEffect(() => {
    if (id === fresh) setFresh(mint());
  }, [id]);
  const [lines, setLines] = useState(/** @type {any[]} */ ([]));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [find, setFind] = useState("");
  useEffect(() => heed((name) => name.startsWith("conversation/"), async () => {
    try {
      const first = await page("/v1/conversations?limit=50");
      setLines((now) => [...first.lines, ...now.filter((line) => line.id < (first.lines[first.lines.length - 1]?.id ?? ""))]);
      setNext((now) => now ?? first.next);
    } catch { /* the line says that it is lost */ }
  }), []);
  const more = async () => {
    if (!next) return;
    const rest = await page(next);
    setLines((now) => [...now, ...rest.lines]);
    setNext(rest.next);
  };
  const wanted = find.trim().toLowerCase();
  const shown = wanted ? lines.filter((line) => line.title.toLowerCase().includes(wanted)) : lines;
  return html`<div class=${cls("split", id && "inside")}>
    <aside class="list" aria-label=${t("Conversations")}>
      <header class="row">
        <a class="button primary" href="#/" onClick=${() => setTimeout(() => document.getElementById("composer")?.focus())}>${t("New conversation")}</a>
      </header>
      <input type="search" placeholder=${t("Search")} aria-label=${t("Search")} value=${find} onInput=${(/** @type {any} */ e) => setFind(e.target.value)} />
      <nav>
        ${shown.map((line) => html`<a key=${line.id} class=${cls("line", line.id === id && "here")} aria-current=${line.id === id ? "page" : undefined}
          href=${`#/c/${encodeURIComponent(line.id)}`}><span>${line.title || t("Untitled")}</span><small>${when(line.spoken_at)}</small></a>`)}
        ${!shown.length && html`<p class="faint empty">${wanted ? t("Nothing is called that.") : t("What you talk about is kept here.")}</p>`}
        ${next && !wanted && html`<button class="quiet" onClick=${more}>${t("More")}</button>`}
      </nav>
    </aside>
    <section class="talk">
      <${Thread} key=${id || fresh} id=${id || fresh} fresh=${!id} />
    </section>
  </div>`;
}

/** @param {{id: string, fresh: boolean}} props */
function Thread({ id, fresh }) {
  const [talk, setTalk] = useState(/** @type {any} */ (null));
  const [gone, setGone] = useState("");
  const [going, setGoing] = useState(/** @type {string | null} */ (null));
  const [first, setFirst] = useState(0);
  const [said, setSaid] = useState(/** @type {string | null} */ (null));
  const look = async () => {
    try {
      const [told, tasks] = await Promise.all([
        get(`/v1/conversations/${encodeURIComponent(id)}`),
        get(`/v1/tasks?conversation_id=${encodeURIComponent(id)}&limit=20`),
      ]);
      const open = tasks.filter((/** @type {any} */ task) => !task.finished_at);
      setTalk(told);
      setSaid(null);
      setGoing(open.length ? open[open.length - 1].task_id : null);
    } catch (why) {
      if (why instanceof Trouble && why.status === 404 && !fresh) setGone(why.message);
    }
  };
  useEffect(() => heed((name) => name === `conversation/${id}`, look), [id]);
  const run = useRun(going);
  /** Runs that were watched to their end stay as they were watched. */
  const watched = useRef(/** @type {Map<string, import("../run.js").Run>} */ (new Map()));
  if (run?.done) watched.current.set(run.task, run);
  const scroller = useStick([talk, run, said]);
  const messages = talk?.messages ?? [];
  const from = Math.max(0, messages.length - WINDOW - first);
  const answered = new Set(messages.filter((/** @type {any} */ m) => m.role === "assistant").map((/** @type {any} */ m) => m.task_id));
  if (gone) return html`<p class="empty">${gone} <a href="#/">${t("Begin a new one")}</a></p>`;
  return html`
    <div class="scroller" ref=${scroller}>
      <div class="column" role="log" aria-live="off">
        ${talk && html`<${Head} talk=${talk} />`}
        ${!talk && fresh && said === null && html`<${Welcome} say=${(/** @type {string} */ words) => { setSaid(words); void send(id, words).then(() => go(`c/${id}`), () => setSaid(null)); }} />`}
        ${from > 0 && html`<button class="quiet" onClick=${() => setFirst(first + WINDOW)}>${t("Earlier: {n}", { n: from })}</button>`}
        ${messages.slice(from).map((/** @type {any} */ message, /** @type {number} */ place) => html`<${Said} key=${from + place} message=${message} run=${watched.current.get(message.task_id) ?? null}
          again=${message.role === "assistant" && from + place === messages.length - 1 && !going ? () => regenerate(id, messages, talk.employee_id) : null} />`)}
        ${said !== null && html`<article class="said user"><div class="bubble">${said}</div></article>`}
        ${run && going && !answered.has(going) && html`<article class="said assistant"><${RunView} run=${run} /></article>`}
      </div>
    </div>
    <${Composer} conversation=${id} employee=${talk?.employee_id} going=${going} sent=${(/** @type {string} */ words) => {
      if (!going) setSaid(words);
      if (fresh) go(`c/${id}`);
      else void look();
    }} />`;
}

/** @param {{talk: any}} props */
function Head({ talk }) {
  return html`<header class="talk-head"><a class="back" href="#/list" aria-label=${t("Conversations")}>‹</a><h1>${talk.title}</h1></header>`;
}

/** Asks the same again: a new answer below, the old one stays. @param {string} id @param {any[]} messages @param {string | null} employee */
async function regenerate(id, messages, employee) {
  const asked = [...messages].reverse().find((message) => message.role === "user");
  if (asked) await send(id, asked.content, { employee });
}

/** @param {{message: any, run: import("../run.js").Run | null, again: (() => void) | null}} props */
function Said({ message, run, again }) {
  const [steps, setSteps] = useState(run);
  useEffect(() => {
    if (run) setSteps(run);
  }, [run]);
  if (message.role === "user") return html`<article class="said user"><div class="bubble">${message.content}</div></article>`;
  const unfold = async () => setSteps(steps ? null : (await pastRun(message.task_id)).run);
  return html`<article class="said assistant">
    ${steps ? html`<${RunView} run=${steps} />` : html`<${Markdown} text=${message.content} />`}
    ${message.status === "stopped" && !steps && html`<p class="faint">${t("Stopped. This is what there was.")}</p>`}
    ${message.status === "failed" && !steps && html`<p class="wrong">${t("The run failed.")} ${!message.content ? t("Its details say why.") : ""}</p>`}
    <footer class="row tools">
      <${Copy} text=${message.content} />
      ${message.task_id && html`<button class="quiet small" aria-expanded=${Boolean(steps)} onClick=${unfold}>${steps ? t("Hide steps") : t("Steps")}</button>`}
      ${again && html`<button class="quiet small" onClick=${again}>${t("Ask again")}</button>`}
    </footer>
  </article>`;
}

/** Stays at the end while new text comes, unless people have scrolled up. @param {unknown[]} on */
function useStick(on) {
  const box = useRef();
  const stuck = useRef(true);
  useEffect(() => {
    const at = box.current;
    if (!at) return undefined;
    const moved = () => (stuck.current = at.scrollHeight - at.scrollTop - at.clientHeight < 80);
    at.addEventListener("scroll", moved, { passive: true });
    // What is far off the screen has a guessed height until it is drawn.
    const grown = new ResizeObserver(() => {
      if (stuck.current) at.scrollTop = at.scrollHeight;
    });
    grown.observe(at.firstElementChild);
    return () => {
      at.removeEventListener("scroll", moved);
      grown.disconnect();
    };
  }, [box.current]);
  useLayoutEffect(() => {
    if (stuck.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, on);
  return box;
}

/** @param {{say: (words: string) => void}} props */
function Welcome({ say }) {
  const told = about.value;
  const tries = [t("What can you do here?"), t("List the files in the workspace"), t("Run `make --version`")];
  return html`<section class="welcome">
    <h1>${t("What shall we do?")}</h1>
    ${told && html`<p class="answers"><span class=${cls("dot", told.model ? "good" : "bad")} aria-hidden="true"></span>
      ${told.model ? t("{model} answers.", { model: told.model }) : t("No model answers yet.")}
      ${" "}<span class="faint">${told.source}</span></p>
      ${told.advice && html`<p class="faint">${told.advice}</p>`}`}
    <div class="chips">${tries.map((words) => html`<button onClick=${() => say(words)}>${words}</button>`)}</div>
    <p class="faint">${t("Everything is kept: close the page, come back, and the run has gone on. What is risky asks you first.")}</p>
  </section>`;
}
