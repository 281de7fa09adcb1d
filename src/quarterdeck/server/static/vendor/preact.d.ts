// What the control room uses of it.
export type VNode = any;
export const h: any;
export const Fragment: any;
export function render(what: any, where: Element): void;
export class Component<P = any> {
  constructor(props?: P);
  props: P;
  state: any;
  setState(next: any): void;
}
