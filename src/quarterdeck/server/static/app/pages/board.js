// Projects where people and agents are members: the board, the chat, who is in it.
import { freshKey, get, post } from "../api.js";
import { useHub } from "../hub.js";
import { heed } from "../news.js";
import { Columns } from "../parts/columns.js";
import { Head } from "../parts/listing.js";
import { MemberList } from "../parts/member_list.js";
import { ProjectChat } from "../parts/project_chat.js";
import { TaskSheet } from "../parts/task_sheet.js";
import { go } from "../place.js";
import { cls, html, useEffect, useState } from "../ui.js";
import { t } from "../words.js";

/** @param {{id: string}} props */
export function Board({ id }) {
  const [project, tab, task] = id.split("/");
  return project ? html`<${Project} key=${project} id=${project} tab=${tab || "board"} task=${task ?? ""} />` : html`<${Projects} />`;
}

function Projects() {
  const [lines, setLines] = useState(/** @type {any[] | null} */ (null));
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState("");
  useEffect(() => heed((stream) => stream.startsWith("project/"), () => get("/api/v1/projects?limit=200").then(setLines, (why) => setWrong(why.message))), []);
  const open = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!name.trim()) return;
    try {
      const made = await post("/api/v1/projects", { name: name.trim() }, freshKey());
      setName("");
      go(`board/${made.id}`);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  return html`<div class="page narrow">
    <${Head} title=${t("Projects")} about=${t("A project has a board and a chat. People and agents are members with the same rights.")} />
    <form class="row" onSubmit=${open}>
      <input class="grow" value=${name} placeholder=${t("Name of a new project")} aria-label=${t("Name of a new project")} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />
      <button class="primary">${t("Open a project")}</button>
    </form>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${lines && !lines.length && html`<p class="empty faint">${t("No project yet. Give it a name above.")}</p>`}
    ${(lines ?? []).filter((line) => !line.archived).map((line) => html`<a class="card project" key=${line.id} href=${`#/board/${line.id}`}><h3>${line.name}</h3><p class="faint">${line.description}</p></a>`)}
  </div>`;
}

/** @param {{id: string, tab: string, task: string}} props */
function Project({ id, tab, task }) {
  const [project, setProject] = useState(/** @type {any} */ (null));
  const [members, setMembers] = useState(/** @type {any[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const { speeches, online } = useHub(id);
  const spoken = [...speeches.values()];
  useEffect(() => heed((stream) => stream === `project/${id}` || stream.startsWith("member/"), async () => {
    try {
      const [told, people] = await Promise.all([get(`/api/v1/projects/${id}`), get(`/api/v1/projects/${id}/members`)]);
      setProject(told);
      setMembers(people);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  }), [id]);
  if (wrong) return html`<p class="empty wrong">${wrong} <a href="#/board">${t("Projects")}</a></p>`;
  if (!project) return null;
  const tabs = [["board", t("Board")], ["chat", t("Chat")], ["members", t("Members")]];
  return html`<div class="project-page">
    <header class="head"><div class="grow"><a class="faint" href="#/board">${t("Projects")}</a><h1>${project.name}</h1></div>
      <nav class="tabs" aria-label=${project.name}>${tabs.map(([name, said]) => html`<a key=${name} class=${cls("button", name === tab ? "here" : "quiet")}
        aria-current=${name === tab ? "page" : undefined} href=${`#/board/${id}/${name}`}>${said}</a>`)}</nav></header>
    ${tab === "chat" && html`<${ProjectChat} project=${project} members=${members} speeches=${spoken.filter((one) => one.chat === project.chat_id)} />`}
    ${tab === "members" && html`<${MemberList} project=${project} members=${members} online=${online} />`}
    ${tab === "board" && html`<${Columns} project=${id} members=${members} />`}
    ${tab === "board" && task && html`<${TaskSheet} key=${task} id=${task} project=${id} members=${members} speeches=${spoken.filter((one) => one.task === task)} />`}
  </div>`;
}
