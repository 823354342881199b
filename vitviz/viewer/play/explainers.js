/** Python's list of explainers for the models of the playground, by the side of a patch in pixels. */

// Only Python knows it: bundle.py replaces this module by one that contains it.
/** @type {Record<string, import("../types.js").Explainer[]>} */
export const EXPLAINERS = {};
