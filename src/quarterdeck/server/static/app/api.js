// Requests to the server, and its problems as errors that people can read.
import { signal } from "./ui.js";

/** Whether somebody has to sign in first. */
export const stranger = signal(false);
let csrf = "";

/** What proves, besides the cookie, that a wish comes from this page. @param {string} token */
export const provedBy = (token) => (csrf = token);

/** Headers of whatever changes something. @param {Record<string, string>} [more] */
export const headers = (more = {}) => ({ "content-type": "application/json", ...(csrf ? { "x-csrf-token": csrf } : {}), ...more });

/** What the server says is wrong: a stable code, a sentence that helps. */
export class Trouble extends Error {
  /** @param {number} status @param {string} code @param {string} detail @param {Record<string, any>} [more] */
  constructor(status, code, detail, more = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.more = more;
  }
}

/** @param {Response} response */
export async function trouble(response) {
  try {
    const told = await response.json();
    return new Trouble(response.status, told.code ?? "http_error", told.detail ?? response.statusText, told);
  } catch {
    return new Trouble(response.status, "http_error", `The server answered ${response.status}.`);
  }
}

/** @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [more] */
async function ask(method, path, body, more = {}) {
  const sent = method === "GET" ? more : headers(more);
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Trouble(0, "unreachable", "The server cannot be reached.");
  }
  if (response.status === 401) stranger.value = true;
  if (!response.ok) throw await trouble(response);
  return response;
}

/** @param {string} path @returns {Promise<any>} */
export const get = async (path) => (await ask("GET", path)).json();

/** A page of a list, and where the next one is. @param {string} path @returns {Promise<{lines: any[], next: string | null}>} */
export async function page(path) {
  const response = await ask("GET", path);
  const link = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "");
  return { lines: await response.json(), next: link ? link[1] : null };
}

/** @param {string} path @param {any} [body] @param {string} [key] @param {Record<string, string>} [more] @returns {Promise<any>} */
export async function post(path, body = {}, key, more = {}) {
  const response = await ask("POST", path, body, { ...more, ...(key ? { "idempotency-key": key } : {}) });
  return response.status === 204 ? null : response.json();
}

/** @param {string} path @param {any} body @returns {Promise<any>} */
export const patch = async (path, body) => (await ask("PATCH", path, body)).json();

/** @param {string} path @param {any} body @returns {Promise<any>} */
export const put = async (path, body) => (await ask("PUT", path, body)).json();

/** @param {string} path */
export async function remove(path) {
  const response = await ask("DELETE", path);
  return response.status === 204 ? null : response.json();
}

/** A key under which a request that is sent again is carried out once. */
export const freshKey = () => `page-${crypto.randomUUID()}`;
