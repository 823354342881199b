/**
 * The worker: computes beside the page, so that the page never freezes. It is a classic worker, whose text
 * bundle.py makes.
 */

import { serving } from "./serving.js";

const serve = serving();

globalThis.addEventListener("message", async ({ data }) => globalThis.postMessage(await serve(data)));
globalThis.postMessage({ ready: true });
