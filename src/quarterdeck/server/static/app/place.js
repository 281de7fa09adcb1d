// Where in the control room we are: the address behind the #, as a signal.
import { signal } from "./ui.js";

const here = () => decodeURI(location.hash.replace(/^#\/?/, ""));

export const place = signal(here());
addEventListener("hashchange", () => (place.value = here()));

/** @param {string} to */
export function go(to) {
  location.hash = `#/${to}`;
}
