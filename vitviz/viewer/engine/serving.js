/** Serving: answers messages with a model, in a worker or in the page. */

import { FormatError } from "../maths/safetensors.js";
import { Core } from "./core.js";
import { fusedKernels } from "./kernels.js";
import { seenOf } from "./preprocess.js";
import { SelectionError } from "./surgery.js";

/** Time that a task runs before other requests are served. */
const SLICE_MS = 30;
/** Number of paused tasks that are kept. The oldest are dropped: nobody continued them. */
const MOST_TASKS = 4;

/**
 * A question: a model to load, a pass to run, a photo to see, or a slice of a task, whose reply has the
 * `share` that is done, or the result as `made`. The reply has the same id. An error is sent as its parts.
 * @typedef {{id: number, load?: ArrayBuffer, wish?: import("./core.js").Wish,
 *   photo?: import("./preprocess.js").Photo, task?: {number: number, wish: import("./core.js").Task}}} Question
 * @typedef {{id: number, value?: any, error?: {kind: string, message: string, key?: string, values?: any}}}
 *   Reply
 */

/** Make a function that answers questions. @returns {(question: Question) => Promise<Reply>} */
export function serving() {
  const core = new Core(fusedKernels);
  /** @type {Map<number, Generator<number, any, void>>} */
  const tasks = new Map();
  const slice = ({ number, wish }) => {
    const task = tasks.get(number) ?? core.work(wish);
    tasks.delete(number);
    const end = performance.now() + SLICE_MS;
    for (;;) {
      const { done, value } = task.next();
      if (done) return { made: value };
      if (performance.now() < end) continue;
      tasks.set(number, task);
      if (tasks.size > MOST_TASKS) tasks.delete(tasks.keys().next().value ?? 0);
      return { share: value };
    }
  };
  return async ({ id, load, wish, photo, task }) => {
    try {
      if (load) tasks.clear(); // each holds the memory of the model before
      return {
        id,
        value: load
          ? core.load(load)
          : photo
            ? await seenOf(photo)
            : task
              ? slice(task)
              : core.run(/** @type {import("./core.js").Wish} */ (wish)),
      };
    } catch (error) {
      const known = [SelectionError, FormatError].find((type) => error instanceof type);
      const kind = known?.name ?? error.kind ?? "Error";
      return { id, error: { kind, message: String(error.message), key: error.key, values: error.values } };
    }
  };
}

/**
 * A copy of a reply whose numbers can be transferred to the page. A browser takes three times as long to clone them,
 * and the worker keeps its own.
 * @param {any} value
 * @returns {{copy: any, transfer: ArrayBuffer[]}}
 */
export function parcelOf(value) {
  const transfer = [];
  const copied = (part) => {
    if (ArrayBuffer.isView(part)) {
      const copy = /** @type {Float32Array} */ (part).slice();
      transfer.push(copy.buffer);
      return copy;
    }
    if (Array.isArray(part)) return part.map(copied);
    if (Object.getPrototypeOf(part ?? 0) !== Object.prototype) return part;
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, copied(each)]));
  };
  return { copy: copied(value), transfer };
}
