// Organisations that share this server: their own model provider, and the employees they hire.
import { freshKey, get, patch, post } from "../api.js";
import { heed } from "../news.js";
import { Head } from "../parts/listing.js";
import { html, useEffect, useState } from "../ui.js";
import { mint } from "../mint.js";
import { go } from "../place.js";
import { t, when } from "../words.js";

/** @param {{id: string}} props */
export function Tenants({ id }) {
  return id ? html`<${Tenant} key=${id} id=${id} />` : html`<${All} />`;
}

function All() {
  const [lines, setLines] = useState(/** @type {any[] | null} */ (null));
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState("");
  useEffect(() => heed((stream) => stream.startsWith("tenant"), () => get("/api/v1/tenants?limit=500").then(setLines, (why) => setWrong(why.message))), []);
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const slug = name.trim().toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || `t-${mint().slice(-6)}`;
    try {
      const made = await post("/api/v1/tenants", { name: name.trim(), slug }, freshKey());
      go(`tenants/${made.id}`);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  return html`<div class="page narrow">
    <${Head} title=${t("Tenants")} about=${t("Organisations that share this server and never see each other.")} />
    <form class="row" onSubmit=${add}><input class="grow" required value=${name} placeholder=${t("Name of a new tenant")} aria-label=${t("Name of a new tenant")} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />
      <button class="primary">${t("Add a tenant")}</button></form>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${lines && !lines.length && html`<p class="empty faint">${t("No tenant yet.")}</p>`}
    ${(lines ?? []).map((line) => html`<a class="card project" key=${line.id} href=${`#/tenants/${line.id}`}><h3>${line.name}</h3><small class="faint">${line.slug} · ${when(line.created_at)}</small></a>`)}
  </div>`;
}

/** @param {{id: string}} props */
function Tenant({ id }) {
  const [tenant, setTenant] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => void get(`/api/v1/tenants/${id}`).then(setTenant, (why) => setWrong(why.message)), [id]);
  if (wrong) return html`<p class="empty wrong">${wrong}</p>`;
  if (!tenant) return null;
  return html`<div class="page narrow">
    <${Head} title=${tenant.name} about=${tenant.slug}><a class="button quiet" href="#/tenants">${t("Tenants")}</a><//>
    <${Provider} id=${id} />
    <${Employees} tenant=${id} />
  </div>`;
}

/** @param {{id: string}} props */
function Provider({ id }) {
  const [config, setConfig] = useState(/** @type {any} */ (null));
  const [told, setTold] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => void get(`/api/v1/tenants/${id}/config`).then(setConfig, (why) => setWrong(why.message)), [id]);
  if (!config) return wrong ? html`<p class="wrong">${wrong}</p>` : null;
  const keep = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const said = Object.fromEntries(new FormData(form));
    /** @type {Record<string, any>} */
    const wish = { llm_provider: said.provider || null, llm_model: said.model || null, llm_base_url: said.url || null, server_default: said.default };
    wish.run_budget_usd = said.run ? Number(said.run) : null;
    wish.day_budget_usd = said.day ? Number(said.day) : null;
    if (said.key) wish.llm_api_key = said.key;
    setWrong("");
    setTold(null);
    try {
      setConfig(await patch(`/api/v1/tenants/${id}/config`, wish));
      form.key.value = "";
      setTold({ ok: true, detail: t("Kept.") });
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const field = (/** @type {string} */ name, /** @type {string} */ said, /** @type {any} */ value, /** @type {any} */ more = {}) =>
    html`<label class="block">${said}<input name=${name} defaultValue=${value ?? ""} ...${more} /></label>`;
  return html`<h2>${t("Model provider")}</h2>
    <form onSubmit=${keep}>
      ${field("provider", t("Provider"), config.llm_provider, { placeholder: "openai, anthropic, ollama, …" })}
      ${field("model", t("Model"), config.llm_model)}
      ${field("url", t("Address, if not the usual one"), config.llm_base_url, { type: "url" })}
      ${field("key", config.llm_api_key_last_four ? t("Key (there is one that ends in {end})", { end: config.llm_api_key_last_four }) : t("Key"), "", { type: "password", autocomplete: "off" })}
      <div class="row">${field("run", t("Budget of a run, USD"), config.run_budget_usd, { type: "number", min: 0, step: "any" })}
        ${field("day", t("Budget of a day, USD"), config.day_budget_usd, { type: "number", min: 0, step: "any" })}
        <label class="block">${t("The server's own model")}<br /><select name="default" value=${config.server_default}>
          ${["never", "when_unset", "when_failing"].map((name) => html`<option value=${name}>${t(name)}</option>`)}</select></label></div>
      ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
      ${told && html`<p class=${told.ok ? "right" : "wrong"} role="status">${told.detail}</p>`}
      <p class="row"><button class="primary">${t("Keep")}</button>
        <button type="button" onClick=${() => post(`/api/v1/tenants/${id}/config/test`).then(setTold, (why) => setWrong(why.message))}>${t("Try it")}</button></p>
    </form>`;
}

/** @param {{tenant: string}} props */
function Employees({ tenant }) {
  const [lines, setLines] = useState(/** @type {any[]} */ ([]));
  const [one, setOne] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => heed((stream) => stream.startsWith("employee/"), () => get(`/api/v1/employees?tenant_id=${tenant}&limit=500`).then(setLines, (why) => setWrong(why.message))), [tenant]);
  const keep = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const said = Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)));
    const wish = { name: said.name, role: said.role, system_prompt: said.prompt, model: said.model || null };
    setWrong("");
    try {
      if (one.id) await patch(`/api/v1/employees/${one.id}`, wish);
      else await post("/api/v1/employees", { tenant_id: tenant, ...wish }, freshKey());
      setOne(null);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  const talk = async (/** @type {any} */ employee) => {
    try {
      const made = await post("/api/v1/conversations", { tenant_id: tenant, employee_id: employee.id, title: employee.name }, freshKey());
      go(`c/${made.id}`);
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  return html`<h2>${t("Employees")} <button class="small" onClick=${() => setOne({})}>${t("Hire")}</button></h2>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    ${!lines.length && !one && html`<p class="faint">${t("Nobody works here yet.")}</p>`}
    ${one && html`<form class="card here" onSubmit=${keep}>
      <label class="block">${t("Name")}<input name="name" required defaultValue=${one.name ?? ""} /></label>
      <label class="block">${t("What it is for")}<input name="role" defaultValue=${one.role ?? ""} /></label>
      <label class="block">${t("Who it is and how it works (its prompt)")}<textarea name="prompt" rows="5" defaultValue=${one.system_prompt ?? ""}></textarea></label>
      <label class="block">${t("Model")}<input name="model" placeholder="provider/model" defaultValue=${one.model ?? ""} /></label>
      <div class="row"><button class="primary">${t("Keep")}</button><button type="button" class="quiet" onClick=${() => setOne(null)}>${t("Cancel")}</button></div></form>`}
    ${lines.map((line) => html`<section class="card" key=${line.id}><h3>${line.name} <small class="faint">${line.role}</small></h3>
      <p class="faint">${line.system_prompt.slice(0, 300)}</p>
      <div class="row">${line.archived
        ? html`<span class="faint grow">${t("archived")}</span><button class="small" onClick=${() => patch(`/api/v1/employees/${line.id}`, { archived: false })}>${t("Bring back")}</button>`
        : html`<button class="primary small" onClick=${() => talk(line)}>${t("Talk")}</button><button class="small" onClick=${() => setOne(line)}>${t("Edit")}</button>
            <button class="quiet small" onClick=${() => patch(`/api/v1/employees/${line.id}`, { archived: true })}>${t("Archive")}</button>`}</div></section>`)}`;
}
