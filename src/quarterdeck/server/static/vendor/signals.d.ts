// What the control room uses of it.
export interface Signal<T> {
  value: T;
  peek(): T;
  subscribe(act: (value: T) => void): () => void;
}
export function signal<T>(first: T): Signal<T>;
export function computed<T>(make: () => T): Signal<T>;
export function effect(act: () => void | (() => void)): () => void;
export function batch<T>(act: () => T): T;
export function useSignal<T>(first: T): Signal<T>;
export function useComputed<T>(make: () => T): Signal<T>;
export function useSignalEffect(act: () => void | (() => void)): void;
