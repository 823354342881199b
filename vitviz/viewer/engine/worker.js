/**
 * The worker: computes beside the page, so that the page never freezes. It is a classic worker, whose text
 * bundle.py makes.
 */

import { parcelOf, serving } from "./serving.js";

const serve = serving();

globalThis.addEventListener("message", async ({ data }) => {
  const { copy, transfer } = parcelOf(await serve(data));
  globalThis.postMessage(copy, { transfer });
});
globalThis.postMessage({ ready: true });
