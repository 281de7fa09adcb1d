// The board's columns: tasks by status, moved with the pointer or with the keyboard.
import { freshKey, page, post, put } from "../api.js";
import { heed } from "../news.js";
import { go } from "../place.js";
import { cls, html, useEffect, useRef, useState } from "../ui.js";
import { t } from "../words.js";

export const STATUSES = ["backlog", "todo", "in_progress", "in_review", "done"];

/** @param {{project: string, members: any[]}} props */
export function Columns({ project, members }) {
  const [tasks, setTasks] = useState(/** @type {any[] | null} */ (null));
  const [wrong, setWrong] = useState("");
  const [over, setOver] = useState("");
  const [told, setTold] = useState("");
  const again = useRef("");
  const look = async () => {
    try {
      const found = [];
      let next = /** @type {string | null} */ (`/api/v1/projects/${project}/tasks?limit=500`);
      while (next && found.length < 5000) {
        const part = await page(next);
        found.push(...part.lines);
        next = part.next;
      }
      setTasks(found);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  useEffect(() => heed((stream) => stream === `project/${project}`, look), [project]);
  useEffect(() => {
    if (again.current) /** @type {HTMLElement | null} */ (document.getElementById(again.current))?.focus();
  }, [tasks]);
  const move = async (/** @type {any} */ task, /** @type {string} */ status) => {
    if (!status || status === task.status) return;
    setWrong("");
    setTasks((now) => (now ?? []).map((one) => (one.id === task.id ? { ...one, status } : one)));
    again.current = `task-${task.id}`;
    try {
      await put(`/api/v1/tasks/${task.id}/status`, { status });
      setTold(t("{title} is now in: {status}", { title: task.title, status: t(status) }));
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
      void look();
    }
  };
  const pressed = (/** @type {KeyboardEvent} */ event, /** @type {any} */ task) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step || !event.altKey) return;
    event.preventDefault();
    void move(task, STATUSES[STATUSES.indexOf(task.status) + step]);
  };
  const slug = new Map(members.map((member) => [member.id, member.slug]));
  return html`<div class="board">
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <p class="unseen" role="status">${told}</p>
    <p class="faint">${t("Drag a task, or hold Alt and press ← or →.")}</p>
    <div class="columns">${STATUSES.map((status) => {
      const here = (tasks ?? []).filter((task) => task.status === status);
      return html`<section key=${status} class=${cls("column-of", over === status && "over")} aria-label=${t(status)}
        onDragOver=${(/** @type {DragEvent} */ e) => { e.preventDefault(); setOver(status); }}
        onDragLeave=${() => setOver("")}
        onDrop=${(/** @type {DragEvent} */ e) => { e.preventDefault(); setOver(""); const id = e.dataTransfer?.getData("text/plain"); const task = (tasks ?? []).find((one) => one.id === id); if (task) void move(task, status); }}>
        <h2>${t(status)} <small class="faint">${here.length}</small></h2>
        ${here.map((task) => html`<a key=${task.id} id=${`task-${task.id}`} class=${cls("card task", task.priority)} draggable="true" href=${`#/board/${project}/board/${task.id}`}
          onDragStart=${(/** @type {DragEvent} */ e) => e.dataTransfer?.setData("text/plain", task.id)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => pressed(e, task)}>
          <span>${task.title}</span>
          <small class="faint">${[task.priority !== "normal" ? t(task.priority) : "", ...task.assignees.map((/** @type {string} */ one) => `@${slug.get(one) ?? one}`),
            task.blocked_by.length ? t("waits for {n}", { n: task.blocked_by.length }) : "", ...task.labels].filter(Boolean).join(" · ")}</small></a>`)}
        ${(status === "todo" || status === "backlog") && html`<${NewTask} project=${project} status=${status} />`}
        ${tasks && !here.length && status !== "todo" && status !== "backlog" && html`<p class="faint empty">–</p>`}
      </section>`;
    })}</div>
  </div>`;
}

/** @param {{project: string, status: string}} props */
function NewTask({ project, status }) {
  const [title, setTitle] = useState("");
  const [wrong, setWrong] = useState("");
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!title.trim()) return;
    try {
      const made = await post(`/api/v1/projects/${project}/tasks`, { title: title.trim(), status }, freshKey());
      setTitle("");
      if (/** @type {any} */ (event).submitter?.value === "open") go(`board/${project}/board/${made.id}`);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  return html`<form onSubmit=${add}><input value=${title} placeholder=${t("New task…")} aria-label=${`${t("New task…")} ${t(status)}`} onInput=${(/** @type {any} */ e) => setTitle(e.target.value)} />
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}</form>`;
}
