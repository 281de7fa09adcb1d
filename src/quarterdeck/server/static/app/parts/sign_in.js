// Signing in with a token, where the server asks for one; and out again.
import { get, post, provedBy, remove, stranger, Trouble } from "../api.js";
import { about } from "../news.js";
import { html, useRef, useState } from "../ui.js";
import { t } from "../words.js";

/** True where somebody may go on: nobody signs in here, or the browser has a session. */
export async function known() {
  try {
    about.value = await get("/v1/about");
    if (about.value.guarded) provedBy((await get("/api/v1/session")).csrf_token);
    return true;
  } catch (why) {
    if (why instanceof Trouble && [401, 404].includes(why.status)) stranger.value = true;
    return !stranger.value;
  }
}

export async function signOut() {
  await remove("/api/v1/session");
  location.reload();
}

export function SignIn() {
  const field = useRef();
  const [wrong, setWrong] = useState("");
  const enter = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const token = field.current.value.trim();
    field.current.value = "";
    try {
      const told = await post("/api/v1/session", undefined, undefined, { authorization: `Bearer ${token}` });
      provedBy(told.csrf_token);
      location.reload();
    } catch (why) {
      setWrong(/** @type {Error} */ (why).message);
    }
  };
  return html`<main class="sign-in"><form class="card" onSubmit=${enter}>
    <h1>Quarterdeck</h1>
    <p class="faint">${t("This server asks who you are. Whoever runs it gives you a token.")}</p>
    ${wrong && html`<p class="wrong" role="alert">${wrong}</p>`}
    <label class="block">${t("Token")}<input type="password" autocomplete="current-password" required ref=${field} autofocus /></label>
    <button class="primary">${t("Sign in")}</button></form></main>`;
}
