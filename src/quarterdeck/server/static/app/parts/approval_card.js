// What a run asks of people: exactly what would run, why it asks, and the answers there are.
import { headers, post, Trouble } from "../api.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { t, when } from "../words.js";
import { pretty } from "./tool_card.js";
import { Shown } from "./shown.js";

/**
 * @param {{approval: any, task: string, focus?: boolean, after?: () => void}} props
 */
export function ApprovalCard({ approval, task, focus, after }) {
  const [words, setWords] = useState("");
  const [edited, setEdited] = useState(/** @type {string | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const first = useRef();
  useEffect(() => {
    if (focus) first.current?.focus();
  }, [focus]);

  /** @param {string} how @param {any} [more] */
  const answer = async (how, more = {}) => {
    setBusy(true);
    setWrong("");
    try {
      const body = { ...more, ...(words.trim() ? { words: words.trim() } : {}) };
      if (how.startsWith("allow") && edited !== null) body.arguments = JSON.parse(edited);
      await post(`/v1/approvals/${approval.approval_id}/${how}`, body);
      after?.();
    } catch (why) {
      setWrong(why instanceof Trouble ? why.message : t("The arguments are not JSON."));
    } finally {
      setBusy(false);
    }
  };
  const asksOutcome = approval.asked === "outcome";
  const asksAnswer = approval.asked === "answer";
  return html`<section class="card ask" role="group" aria-label=${t("Waits for your answer")} tabindex="-1" ref=${asksAnswer ? undefined : first}>
    <header class="ask-head">
      <span class=${`risk ${approval.risk_level}`}>${t(asksAnswer ? "question" : approval.risk_level)}</span>
      <strong>${approval.tool}</strong>
      <span class="grow">${approval.why || approval.reason}</span>
    </header>
    ${edited === null
      ? html`<${Shown} text=${approval.shown} />`
      : html`<textarea class="mono" rows="6" value=${edited} aria-label=${t("Arguments")}
          onInput=${(/** @type {any} */ e) => setEdited(e.target.value)}></textarea>`}
    ${approval.reason && approval.why && html`<p class="faint">${t("The agent says:")} ${approval.reason}</p>`}
    <input value=${words} placeholder=${asksAnswer ? t("Your answer") : t("Words for the agent (optional)")}
      aria-label=${asksAnswer ? t("Your answer") : t("Words for the agent (optional)")}
      ref=${asksAnswer ? first : undefined}
      onInput=${(/** @type {any} */ e) => setWords(e.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ e) => asksAnswer && e.key === "Enter" && words.trim() && answer("allow_once")} />
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="row">
      ${asksOutcome
        ? html`<button disabled=${busy} onClick=${() => answer("outcome", { outcome: "happened" })}>${t("It happened")}</button>
            <button disabled=${busy} onClick=${() => answer("outcome", { outcome: "again" })}>${t("Do it again")}</button>
            <button class="quiet" disabled=${busy} onClick=${() => answer("outcome", { outcome: "give_up" })}>${t("Let it be")}</button>`
        : asksAnswer
          ? html`<button class="primary" disabled=${busy || !words.trim()} onClick=${() => answer("allow_once")}>${t("Answer")}</button>
              <button class="quiet" disabled=${busy} onClick=${() => answer("deny")}>${t("Decline")}</button>`
          : html`<button class="primary" disabled=${busy} onClick=${() => answer("allow_once")}>${t("Allow once")}</button>
              <button disabled=${busy} onClick=${() => answer("allow_run")}>${t("For this run")}</button>
              ${approval.always && html`<button disabled=${busy} onClick=${() => answer("allow_always")}>${t("Always")}</button>`}
              <button class="danger" disabled=${busy} onClick=${() => answer("deny")}>${t("Deny")}</button>
              <button class="quiet" disabled=${busy} onClick=${() => setEdited(edited === null ? pretty(approval.args) : null)}>
                ${edited === null ? t("Edit") : t("Do not edit")}</button>`}
      <span class="grow"></span>
      ${approval.expires_at && html`<small class="faint">${t("until {when}", { when: when(approval.expires_at) })}</small>`}
      ${task && html`<a class="faint" href=${`#/run/${task}`}>${t("run")}</a>`}
    </div>
  </section>`;
}

/** The one-time password of the sudo lane. It leaves this field for the server and is kept nowhere.
 * @param {{task: string, approval: string, command: string}} props */
export function PasswordCard({ task, approval, command }) {
  const field = useRef();
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setWrong("");
    const password = field.current.value;
    field.current.value = "";
    try {
      const response = await fetch(`/v1/tasks/${task}/password/stream`, {
        method: "POST",
        headers: headers(),
        body: JSON.stringify({ approval_id: approval, password }),
      });
      if (!response.ok) setWrong((await response.json()).detail);
      await response.body?.cancel();
    } catch {
      setWrong(t("The server cannot be reached."));
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="card ask" onSubmit=${send}>
    <header class="ask-head"><span class="risk high">sudo</span><span class="grow">${t("This command needs a one-time password.")}</span></header>
    <${Shown} text=${command} />
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <div class="row">
      <input class="grow" type="password" autocomplete="off" ref=${field} required aria-label=${t("One-time password")}
        placeholder=${t("One-time password")} />
      <button class="primary" disabled=${busy}>${t("Hand over")}</button>
    </div>
    <small class="faint">${t("It goes to sudo's standard input only and is kept nowhere.")}</small>
  </form>`;
}
