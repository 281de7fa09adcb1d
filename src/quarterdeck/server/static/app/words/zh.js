// 中文
/** @type {Record<string, string>} */
export const zh = {};
