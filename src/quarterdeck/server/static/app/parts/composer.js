// Where people write: a message, or a word to a run that works.
import { freshKey, headers, post, Trouble, trouble } from "../api.js";
import { about } from "../news.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { t } from "../words.js";

const DRAFTS = "quarterdeck.draft.";

/** @param {string | null | undefined} model */
const bestLoop = (model) => (!model || model.startsWith("local/") ? "roles" : "native");

/**
 * Starts a run; it is durable when this returns. What is said to an employee goes through its own tenant's door.
 * @param {string} conversation @param {string} message @param {{employee?: string | null, more?: any, key?: string}} [how]
 */
export async function send(conversation, message, { employee, more = {}, key = freshKey() } = {}) {
  const mine = { message, conversation_id: conversation, loop: bestLoop(about.value?.model), ...more };
  const [path, body] = employee
    ? [`/api/v1/conversations/${encodeURIComponent(conversation)}/messages/stream`, { content: message }]
    : ["/v1/chat/stream", mine];
  const response = await fetch(path, {
    method: "POST",
    headers: headers({ "idempotency-key": key }),
    body: JSON.stringify(body),
  });
  if (!response.ok) throw await trouble(response);
  await response.body?.cancel();
}

/**
 * @param {{conversation: string, employee?: string | null, going: string | null, sent: (message: string) => void}} props `going` is the run that works
 */
export function Composer({ conversation, employee, going, sent }) {
  const [text, setText] = useState(() => sessionStorage.getItem(DRAFTS + conversation) ?? "");
  const [mode, setMode] = useState("steer");
  const [thinking, setThinking] = useState("auto");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const [told, setTold] = useState("");
  const key = useRef("");
  const field = useRef();
  useEffect(() => {
    setText(sessionStorage.getItem(DRAFTS + conversation) ?? "");
    setWrong("");
    field.current?.focus({ preventScroll: true });
  }, [conversation]);

  const write = (/** @type {string} */ said) => {
    setText(said);
    key.current = "";
    if (said) sessionStorage.setItem(DRAFTS + conversation, said);
    else sessionStorage.removeItem(DRAFTS + conversation);
  };
  const go = async () => {
    const said = text.trim();
    if (!said || busy) return;
    setBusy(true);
    setWrong("");
    // Sent again after a failure, it is the same request.
    key.current = key.current || freshKey();
    try {
      const heard = going !== null && (await stepIn(said));
      if (!heard) {
        const more = thinking === "auto" ? {} : { reasoning: thinking };
        await send(conversation, said, { employee, more, key: key.current });
      }
      write("");
      sent(said);
    } catch (why) {
      setWrong(why instanceof Trouble ? why.message : t("The server cannot be reached. Your words are kept here."));
    } finally {
      setBusy(false);
      field.current?.focus({ preventScroll: true });
    }
  };
  /** False where the run has ended meanwhile: then it is a new message. @param {string} said */
  const stepIn = async (said) => {
    try {
      await post(`/v1/tasks/${going}/interventions`, { text: said, mode });
    } catch (why) {
      if (why instanceof Trouble && why.code === "task_ended") return false;
      throw why;
    }
    setTold(t(mode === "queue" ? "It is next after this answer." : "The agent will hear it."));
    setTimeout(() => setTold(""), 4000);
    return true;
  };
  const stop = async () => {
    try {
      await post(`/v1/tasks/${going}/stop`);
    } catch (why) {
      if (why instanceof Trouble && why.code !== "task_ended") setWrong(why.message);
    }
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void go();
    }
    if (event.key === "Escape" && going) void stop();
  };
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), go())}>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${told && html`<p class="faint" role="status">${told}</p>`}
    <textarea id="composer" ref=${field} rows=${Math.min(10, Math.max(1, text.split("\n").length))} value=${text}
      placeholder=${going ? t("Step in while it works…") : t("Write a message…")} aria-label=${t("Message")}
      onInput=${(/** @type {any} */ e) => write(e.target.value)} onKeyDown=${pressed}></textarea>
    <div class="row">
      ${going
        ? html`<select aria-label=${t("When it is heard")} value=${mode} onChange=${(/** @type {any} */ e) => setMode(e.target.value)}>
            <option value="steer">${t("At the next step")}</option>
            <option value="queue">${t("After this answer")}</option>
            <option value="interrupt">${t("Now, breaking off")}</option>
          </select>`
        : !employee && html`<label class="faint">${t("Reasoning")} <select value=${thinking} onChange=${(/** @type {any} */ e) => setThinking(e.target.value)}>
            <option value="auto">${t("auto")}</option><option value="on">${t("on")}</option><option value="off">${t("off")}</option>
          </select></label>`}
      <span class="grow"></span>
      ${going && html`<button type="button" class="danger" onClick=${stop}>${t("Stop")}</button>`}
      <button class="primary" disabled=${busy || !text.trim()}>${going ? t("Step in") : t("Send")}</button>
    </div>
  </form>`;
}
