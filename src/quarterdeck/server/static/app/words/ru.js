// По-русски
/** @type {Record<string, string>} */
export const ru = {};
