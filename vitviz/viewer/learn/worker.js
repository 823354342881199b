/**
 * The worker: trains a model beside the page, so that the page never freezes. It is a classic worker, whose
 * text bundle.py makes.
 */

import { serving } from "./serving.js";

// Timers of a page wait at least 4 ms, which is as long as a step takes; messages do not.
const { port1, port2 } = new MessageChannel();
const waiting = [];
port1.onmessage = () => waiting.shift()();
const later = (run, wait = 0) => {
  if (wait > 0) {
    setTimeout(run, wait);
    return;
  }
  waiting.push(run);
  port2.postMessage(null);
};
const serve = serving((event) => globalThis.postMessage(event), later);

globalThis.addEventListener("message", ({ data }) => globalThis.postMessage(serve(data)));
globalThis.postMessage({ ready: true });
