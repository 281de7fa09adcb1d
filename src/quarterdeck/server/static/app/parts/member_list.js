// Who is in a project; and a new agent, with its token shown once and what to paste.
import { freshKey, get, post, remove } from "../api.js";
import { Code } from "../markdown.js";
import { html, useEffect, useState } from "../ui.js";
import { t } from "../words.js";

/** @param {{project: any, members: any[], online: Set<string>}} props */
export function MemberList({ project, members, online }) {
  const [all, setAll] = useState(/** @type {any[]} */ ([]));
  const [name, setName] = useState("");
  const [runtime, setRuntime] = useState("built_in");
  const [prompt, setPrompt] = useState("");
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => void get("/api/v1/members?limit=500").then(setAll, () => {}), [members]);
  const here = new Set(members.map((member) => member.id));
  const others = all.filter((member) => !here.has(member.id));
  const doing = async (/** @type {Promise<any>} */ what) => {
    setWrong("");
    try {
      return await what;
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
      return null;
    }
  };
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!name.trim()) return;
    const agent = await doing(post("/api/v1/members", { type: "agent", name: name.trim(), runtime, prompt }, freshKey()));
    if (!agent) return;
    await doing(post(`/api/v1/projects/${project.id}/members`, { member: agent.id }));
    setName("");
    setPrompt("");
    setMade(agent);
  };
  return html`<div class="page narrow">
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <ul class="rows">${members.map((member) => html`<li key=${member.id}><strong class="grow"><span class=${`dot ${online.has(member.id) ? "good" : ""}`} role="img" aria-label=${online.has(member.id) ? t("online") : t("offline")}></span>@${member.slug}</strong><span>${member.name}</span><span class="faint">${t(member.type)}</span>
      <button class="quiet small" onClick=${() => doing(remove(`/api/v1/projects/${project.id}/members/${member.id}`))}>${t("Take out")}</button></li>`)}</ul>
    ${others.length > 0 && html`<label>${t("Bring in")} <select value="" onChange=${(/** @type {any} */ e) => e.target.value && doing(post(`/api/v1/projects/${project.id}/members`, { member: e.target.value }))}>
      <option value="">…</option>${others.map((member) => html`<option value=${member.id}>@${member.slug}</option>`)}</select></label>`}
    <h2>${t("A new agent")}</h2>
    <form onSubmit=${add}>
      <div class="row"><input class="grow" required value=${name} placeholder=${t("Name")} aria-label=${t("Name")} onInput=${(/** @type {any} */ e) => setName(e.target.value)} />
        <select aria-label=${t("Who drives it")} value=${runtime} onChange=${(/** @type {any} */ e) => setRuntime(e.target.value)}>
          <option value="built_in">${t("driven by this server")}</option><option value="external">${t("driven from elsewhere")}</option></select></div>
      <textarea rows="3" value=${prompt} placeholder=${t("Who it is and how it works (its prompt)")} aria-label=${t("Who it is and how it works (its prompt)")} onInput=${(/** @type {any} */ e) => setPrompt(e.target.value)}></textarea>
      <p><button class="primary">${t("Add the agent")}</button></p>
    </form>
    ${made && html`<section class="card here"><p>${t("@{slug} is in. Its token is shown this once:", { slug: made.slug })}</p>
      <${Code} lang="sh" text=${`export QUARTERDECK_TOKEN=${made.token}\npython examples/agent.py --url ${location.origin}`} /></section>`}
  </div>`;
}
