// What the page says, in three languages. English is the key; what a language lacks is said in English.
import { signal } from "./ui.js";
import { en } from "./words/en.js";
import { zh } from "./words/zh.js";
import { ru } from "./words/ru.js";

/** @type {Record<string, Record<string, string>>} */
const BOOKS = { en, zh, ru };
export const LANGUAGES = { en: "English", zh: "中文", ru: "Русский" };
const KEPT = "quarterdeck.language";

function first() {
  const kept = localStorage.getItem(KEPT);
  if (kept && kept in LANGUAGES) return kept;
  const wished = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return wished.find((tag) => tag in LANGUAGES) ?? "en";
}

export const language = signal(first());

/** @param {string} tag */
export function speak(tag) {
  language.value = tag;
  localStorage.setItem(KEPT, tag);
  document.documentElement.lang = tag;
}

/** @param {string} said @param {Record<string, string | number>} [about] */
export function t(said, about) {
  const text = BOOKS[language.value][said] ?? said;
  return about ? text.replace(/\{(\w+)\}/g, (_, name) => String(about[name] ?? "")) : text;
}

/** @param {number | null | undefined} seconds since 1970 */
export function when(seconds) {
  if (!seconds) return "";
  const at = new Date(seconds * 1000);
  const today = new Date().toDateString() === at.toDateString();
  return at.toLocaleString(language.value, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** @param {number | null | undefined} ms */
export function lasted(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** @param {number | null | undefined} usd */
export const money = (usd) => (usd === null || usd === undefined ? "–" : `$${usd < 0.01 && usd > 0 ? usd.toFixed(4) : usd.toFixed(2)}`);

/** @param {number | null | undefined} count */
export const number = (count) => (count ?? 0).toLocaleString(language.value);
