// The control room: where we are decides what is shown.
import { stranger } from "./api.js";
import { line, listen, pending } from "./news.js";
import { go, place } from "./place.js";
import { Rail } from "./parts/rail.js";
import { Keys } from "./parts/keys.js";
import { known, SignIn } from "./parts/sign_in.js";
import { effect, html, render, useEffect, useState } from "./ui.js";
import { language, speak, t } from "./words.js";
import { Conversations } from "./pages/conversations.js";

/** Pages that are loaded when somebody goes there. @type {Record<string, () => Promise<any>>} */
const PAGES = {
  approvals: () => import("./pages/approvals.js").then((page) => page.Approvals),
  runs: () => import("./pages/runs.js").then((page) => page.Runs),
  run: () => import("./pages/run.js").then((page) => page.OneRun),
  teams: () => import("./pages/teams.js").then((page) => page.Teams),
  board: () => import("./pages/board.js").then((page) => page.Board),
  memory: () => import("./pages/memory.js").then((page) => page.Memory),
  experience: () => import("./pages/experience.js").then((page) => page.Experience),
  skills: () => import("./pages/skills.js").then((page) => page.Skills),
  audit: () => import("./pages/audit.js").then((page) => page.Audit),
  tenants: () => import("./pages/tenants.js").then((page) => page.Tenants),
  people: () => import("./pages/people.js").then((page) => page.People),
  usage: () => import("./pages/usage.js").then((page) => page.Usage),
  settings: () => import("./pages/settings.js").then((page) => page.Settings),
};

function Deck() {
  if (stranger.value) return html`<${SignIn} />`;
  const [head, ...rest] = place.value.split("/");
  const id = rest.map(decodeURIComponent).join("/");
  return html`<div class="deck" lang=${language.value}>
    <a class="skip" href="#main" onClick=${(/** @type {Event} */ e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>${t("Skip to the content")}</a>
    <${Rail} here=${head === "c" || head === "list" ? "" : head} />
    <main id="main" tabindex="-1">
      ${line.value === "lost" && html`<p class="banner" role="status">${t("The connection is lost. It comes back by itself; nothing is lost.")}</p>`}
      ${head in PAGES ? html`<${Lazy} key=${head} name=${head} id=${id} />` : html`<${Conversations} id=${head === "c" ? id : ""} />`}
    </main>
    <${Keys} />
  </div>`;
}

/** @param {{name: string, id: string}} props */
function Lazy({ name, id }) {
  const [page, setPage] = useState(/** @type {{of: any} | null} */ (null));
  useEffect(() => {
    PAGES[name]().then((of) => setPage({ of }));
  }, [name]);
  return page && html`<${page.of} id=${id} />`;
}

effect(() => {
  const waiting = pending.value.length;
  document.title = waiting ? `(${waiting}) Quarterdeck` : "Quarterdeck";
});

let waited = 0;
effect(() => {
  const waiting = pending.value.length;
  const granted = "Notification" in window && Notification.permission === "granted";
  if (waiting > waited && document.visibilityState === "hidden" && granted) {
    const asked = pending.value[waiting - 1];
    new Notification("Quarterdeck", { body: `${t("Waits for your answer")}: ${asked.tool}`, tag: asked.approval_id }).onclick = () => {
      window.focus();
      go("approvals");
    };
  }
  waited = waiting;
});

speak(language.value);
void known().then((may) => {
  if (may) listen();
  const root = document.getElementById("deck");
  if (root) render(html`<${Deck} />`, root);
});
