/**
 * The worker, and what it serves with in a page that may have none. In a bundle `served` of bundle.py stands in place
 * of this file, and the page computes itself where the text is empty.
 */
export const WORKER = "";
export { serving } from "./serving.js";
