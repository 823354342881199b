/**
 * Source text of the worker, and the serving function for a page that may not start one. In a bundle the
 * module that `_worker` of bundle.py makes replaces this file. Where the text is empty, the page computes
 * without a worker.
 */
export const WORKER = "";
export { serving } from "./serving.js";
