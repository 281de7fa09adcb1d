// Who may come in: users of the tenant and the tokens they show.
import { freshKey, get, post, remove } from "../api.js";
import { heed } from "../news.js";
import { Code } from "../markdown.js";
import { Head } from "../parts/listing.js";
import { html, useEffect, useState } from "../ui.js";
import { t, when } from "../words.js";

const ROLES = ["viewer", "member", "admin", "owner"];

export function People() {
  const [users, setUsers] = useState(/** @type {any[]} */ ([]));
  const [tokens, setTokens] = useState(/** @type {any[]} */ ([]));
  const [name, setName] = useState("");
  const [role, setRole] = useState("member");
  const [service, setService] = useState("");
  const [made, setMade] = useState("");
  const [wrong, setWrong] = useState("");
  const look = async () => {
    try {
      setUsers(await get("/api/v1/users?limit=500"));
      setTokens(await get("/api/v1/tokens?limit=500"));
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  useEffect(() => heed((stream) => /^(token|user)/.test(stream), look), []);
  const doing = async (/** @type {Promise<any>} */ what) => {
    setWrong("");
    try {
      const told = await what;
      setMade(told?.token ?? "");
      await look();
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    void doing(post("/api/v1/users", { name: name.trim(), role }, freshKey()).then(() => setName("")));
  };
  const issue = (/** @type {Event} */ event) => {
    event.preventDefault();
    void doing(post("/api/v1/tokens", { service: service.trim(), role }, freshKey()).then((told) => (setService(""), told)));
  };
  const roles = html`<select aria-label=${t("Role")} value=${role} onChange=${(/** @type {any} */ e) => setRole(e.target.value)}>${ROLES.map((one) => html`<option value=${one}>${t(one)}</option>`)}</select>`;
  return html`<div class="page narrow">
    <${Head} title=${t("People and tokens")} about=${t("A token is shown once. Revoking it ends within a second whatever is open with it.")} />
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${made && html`<section class="card here"><p>${t("Keep this token now; it is not shown again.")}</p><${Code} text=${made} /></section>`}
    <h2>${t("People")}</h2>
    <form class="row" onSubmit=${add}><input class="grow" required value=${name} placeholder=${t("Name")} aria-label=${t("Name")} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />${roles}<button class="primary">${t("Add")}</button></form>
    <ul class="rows">${users.map((one) => html`<li key=${one.id}><strong class="grow">${one.name}</strong><span>${t(one.role)}</span>
      <button class="small" onClick=${() => doing(post("/api/v1/tokens", { user_id: one.id }, freshKey()))}>${t("New token")}</button>
      <button class="quiet small" onClick=${() => doing(remove(`/api/v1/users/${one.id}`))}>${t("Remove")}</button></li>`)}</ul>
    <h2>${t("Tokens")}</h2>
    <form class="row" onSubmit=${issue}><input class="grow" required value=${service} placeholder=${t("What it is for, such as backup")} aria-label=${t("What it is for, such as backup")} onInput=${(/** @type {any} */ e) => setService(e.target.value)} />${roles}<button class="primary">${t("New token")}</button></form>
    <ul class="rows">${tokens.filter((one) => !one.revoked_at).map((one) => html`<li key=${one.id}><span class="grow">${one.name || one.actor}</span><span>${t(one.role)}</span>
      <small class="faint">${one.session ? t("browser") : ""} ${one.expires_at ? t("until {when}", { when: when(one.expires_at) }) : ""}</small>
      <button class="danger small" onClick=${() => doing(remove(`/api/v1/tokens/${one.id}`))}>${t("Revoke")}</button></li>`)}</ul>
  </div>`;
}
