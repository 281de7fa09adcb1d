// What the control room uses of it.
export function useState<T>(first: T | (() => T)): [T, (next: T | ((now: T) => T)) => void];
export function useEffect(act: () => void | (() => void), on?: readonly unknown[]): void;
export function useLayoutEffect(act: () => void | (() => void), on?: readonly unknown[]): void;
export function useRef<T = any>(first?: T): { current: T };
export function useMemo<T>(make: () => T, on: readonly unknown[]): T;
export function useCallback<T>(act: T, on: readonly unknown[]): T;
