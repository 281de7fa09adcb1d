// One task: what it is, who works on it, what was said, and the runs and streams that worked on it.
import { freshKey, get, patch, post, put } from "../api.js";
import { Markdown } from "../markdown.js";
import { heed } from "../news.js";
import { go } from "../place.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { t, when } from "../words.js";
import { STATUSES } from "./columns.js";
import { SpeechCard } from "./speech.js";

/** @param {{id: string, project: string, members: any[], speeches: import("../hub.js").Speech[]}} props */
export function TaskSheet({ id, project, members, speeches }) {
  const [task, setTask] = useState(/** @type {any} */ (null));
  const [comments, setComments] = useState(/** @type {any[]} */ ([]));
  const [work, setWork] = useState(/** @type {any[]} */ ([]));
  const [words, setWords] = useState("");
  const [about, setAbout] = useState(/** @type {string | null} */ (null));
  const [wrong, setWrong] = useState("");
  const box = useRef();
  const close = () => go(`board/${project}`);
  useEffect(() => heed((stream) => stream === `project/${project}`, async () => {
    try {
      setTask(await get(`/api/v1/tasks/${id}`));
      setComments(await get(`/api/v1/tasks/${id}/comments?limit=500`));
      setWork(await get(`/api/v1/tasks/${id}/work`));
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  }), [id]);
  useEffect(() => {
    box.current?.focus();
    const pressed = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && close();
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const doing = async (/** @type {Promise<any>} */ what) => {
    setWrong("");
    try {
      const now = await what;
      if (now?.status) setTask(now);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const say = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!words.trim()) return;
    await doing(post(`/api/v1/tasks/${id}/comments`, { content: words.trim() }, freshKey()).then(() => setWords("")));
  };
  const assign = (/** @type {any} */ event) =>
    doing(put(`/api/v1/tasks/${id}/assignees`, { members: [...event.target.selectedOptions].map((/** @type {any} */ one) => one.value) }));
  return html`<aside class="side-sheet" role="dialog" aria-label=${task?.title ?? ""} tabindex="-1" ref=${box}>
    <header class="row"><span class="grow"></span><button class="quiet" onClick=${close} aria-label=${t("Close")}>✕</button></header>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${task && html`
      <h2>${task.title}</h2>
      <div class="row">
        <label>${t("Status")} <select value=${task.status} onChange=${(/** @type {any} */ e) => doing(put(`/api/v1/tasks/${id}/status`, { status: e.target.value }))}>
          ${[...STATUSES, "cancelled"].map((name) => html`<option value=${name}>${t(name)}</option>`)}</select></label>
        <label>${t("Priority")} <select value=${task.priority} onChange=${(/** @type {any} */ e) => doing(patch(`/api/v1/tasks/${id}`, { priority: e.target.value }))}>
          ${["low", "normal", "high", "urgent"].map((name) => html`<option value=${name}>${t(name)}</option>`)}</select></label>
      </div>
      <label class="block">${t("Assigned to")} <select multiple size=${Math.min(5, Math.max(2, members.length))} onChange=${assign}>
        ${members.map((member) => html`<option value=${member.id} selected=${task.assignees.includes(member.id)}>@${member.slug}${member.type === "agent" ? " ⚙" : ""}</option>`)}</select></label>
      ${about === null
        ? html`<${Markdown} text=${task.description || t("No description.")} /><button class="quiet small" onClick=${() => setAbout(task.description)}>${t("Edit")}</button>`
        : html`<textarea rows="5" aria-label=${t("Description")} value=${about} onInput=${(/** @type {any} */ e) => setAbout(e.target.value)}></textarea>
            <button class="primary small" onClick=${() => doing(patch(`/api/v1/tasks/${id}`, { description: about })).then(() => setAbout(null))}>${t("Keep")}</button>`}
      ${task.blocked_by.length > 0 && html`<p class="faint">${t("waits for {n}", { n: task.blocked_by.length })}</p>`}
      ${task.status === "in_review" && html`<div class="row">
        <button class="primary" onClick=${() => doing(post(`/api/v1/tasks/${id}/review`, { verdict: "approved" }))}>${t("Approve the work")}</button>
        <button onClick=${() => doing(post(`/api/v1/tasks/${id}/review`, { verdict: "sent_back", words: words.trim() }).then((now) => (setWords(""), now)))}>${t("Send back with the words below")}</button></div>
        ${task.summary && html`<${Markdown} text=${task.summary} />`}`}
      ${work.length > 0 && html`<h4>${t("Worked on by")}</h4><ul class="rows">${work.map((one) => html`<li key=${one.stream_id}>
        <span class="grow">@${members.find((member) => member.id === one.member)?.slug ?? one.member}</span><span class=${`state ${one.status}`}>${t(one.status)}</span>
        ${one.task_id && html`<a href=${`#/run/${one.task_id}`}>${t("run")}</a>`}</li>`)}</ul>`}
      <h4>${t("Comments")}</h4>
      ${comments.map((one) => html`<article class="message" key=${one.id}><header><strong>@${one.author.slug}</strong> <small class="faint">${when(one.at)}</small></header><${Markdown} text=${one.content} /></article>`)}
      ${speeches.map((one) => html`<${SpeechCard} key=${one.id} speech=${one} />`)}
      <form class="row" onSubmit=${say}><textarea class="grow" rows="2" value=${words} placeholder=${t("Write a comment… @name wakes an agent")} aria-label=${t("Write a comment… @name wakes an agent")}
        onInput=${(/** @type {any} */ e) => setWords(e.target.value)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === "Enter" && !e.shiftKey && say(e)}></textarea>
        <button class="primary" disabled=${!words.trim()}>${t("Send")}</button></form>`}
  </aside>`;
}
