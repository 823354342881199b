/**
 * The worker as a text without imports: bundle.py puts it here, for a browser alone; without it the page
 * computes itself.
 */
export const WORKER = "";
