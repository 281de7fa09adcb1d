// What every part of the page is made with: templates, hooks, signals.
import { h, render, Fragment, Component } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { render, Fragment, Component };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "../vendor/hooks.js";
export { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "../vendor/signals.js";
export const html = htm.bind(h);

/** Class names that count. @param {...(string | false | null | undefined)} names */
export const cls = (...names) => names.filter(Boolean).join(" ");

/** @template T @typedef {import("../vendor/signals.js").Signal<T>} Sig */
