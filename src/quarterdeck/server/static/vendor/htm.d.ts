// What the control room uses of it.
declare const htm: { bind(h: any): (strings: TemplateStringsArray, ...values: any[]) => any };
export default htm;
