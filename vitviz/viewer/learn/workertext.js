/**
 * Source of the worker, without imports. bundle.py fills it in; where it is empty the page computes itself.
 */
export const WORKER = "";
