/**
 * Client: the page's side of the engine, which runs a model in a worker or in the page.
 *
 *     const engine = createEngine({ told: (state) => ... });
 *     const facts = await engine.load(buffer);            // the bytes of weights/photos.safetensors
 *     if (facts.unknown.length > 0) ...                   // the server's
 *     const intact = await engine.run({ picture });
 *     const after = await engine.run({ picture, interventions: [{ kind: "remove", patches: [40, 41] }] });
 *     const quick = await engine.run({ picture, interventions, answer: true });   // only logits
 *     const { seen } = await engine.see({ bitmap, preprocess });   // a photo as the model
 *     sees it
 *     const { values } = await engine.work({ picture, explainer: "occlusion", target: 3 });   // in slices,
 *     between which others are served
 */

import { openPort, pagePort, workerPort } from "./port.js";
import { DRAWS_IN_WORKERS, seenOf } from "./preprocess.js";
import { SelectionError } from "./surgery.js";
import { WORKER, serving } from "./workertext.js";
import { FormatError } from "../maths/safetensors.js";

/** Rejection of a wish: a newer wish replaced it before it was begun. */
export class Overtaken extends Error {}

/**
 * A `Wish` of core.js whose `donors` are whole passes, by the name that a transplant has as `from`. A newer
 * wish replaces an older one of the same `lane` ("" by default) that has not begun.
 * @typedef {{picture: Uint8Array, interventions?: any[], donors?: Record<string, import("./core.js").Pass>,
 *   answer?: boolean, lane?: string}} Wanted
 */

/**
 * State of the engine. where: passes are computed by a "worker", by the "page" (which freezes meanwhile;
 * there may be no worker), or not at all any more: "stopped" (the worker died twice); restarts: number of
 * times that the worker was replaced; simd: whether WebAssembly is used, null before a model is loaded.
 * @typedef {{where: "worker"|"page"|"stopped", restarts: number, simd: boolean|null}} State
 */

/**
 * @typedef {{
 *   load: (buffer: ArrayBuffer) => Promise<import("./core.js").Facts>,
 *   run: (wanted: Wanted) => Promise<import("./core.js").Pass>,
 *   see: (photo: import("./preprocess.js").Photo) => ReturnType<typeof seenOf>,
 *   work: (task: import("./core.js").Task, of?: {told?: (share: number) => void, signal?: AbortSignal}) =>
 *     Promise<any>,
 *   state: () => State, stop: () => void,
 * }} Engine
 *   load: read a model and forget the one before; rejected with a FormatError. The buffer stays the page's.
 *   run: one pass; rejected with a SelectionError (its `key` and `values` are of
 *   languages/en/experiments.json), with `Overtaken`, or
 *     with an Error when the engine stopped. A pass is read-only: later passes share parts of it.
 *   see: the model's view of a photo. The photo's bitmap is transferred and does not come back.
 *   work: a longer task; passes that are requested meanwhile go first. told: called with the share that is
 *     done; signal: cancels the task. It is rejected with `Overtaken` when cancelled, and when another model
 *     is loaded.
 *   stop: end the worker; everything that waits is rejected.
 */

const MOST_RESTARTS = 1;

/**
 * @param {{worker?: string, told?: (state: State) => void, ports?: import("./port.js").Ports}} [options]
 *   told: called after every change of the state; worker: its source text, "" for none
 * @returns {Engine}
 */
export function createEngine({
  worker = WORKER,
  told: notify = () => {},
  ports = { worker: workerPort, page: pagePort(serving) },
} = {}) {
  /** @type {State} */
  const state = { where: worker ? "worker" : "page", restarts: 0, simd: null };
  /**
   * @type {{question: any, lane: string|null, resolve: (value: any) => void, reject: (error: Error) => void,
   *   task?: {told?: (share: number) => void, signal?: AbortSignal}}[]}
   */
  let waiting = [];
  let flying = /** @type {typeof waiting[0]|null} */ (null);
  let model = /** @type {ArrayBuffer|null} */ (null);
  let count = 0;
  const port = openPort(worker, ports, { hear, died, again, moved: () => change({ where: "page" }) });

  function change(parts) {
    notify({ ...Object.assign(state, parts) });
  }

  function next() {
    while (!flying && waiting.length > 0) {
      const first = /** @type {typeof waiting[0]} */ (waiting.shift());
      if (first.task?.signal?.aborted) first.reject(new Overtaken("nobody needs this task any more"));
      else send(first);
    }
  }

  /** Post a request to the worker. One that cannot be posted, such as a closed bitmap, is rejected. */
  function send(request) {
    flying = request;
    try {
      port.post(request.question);
    } catch (error) {
      flying = null;
      request.reject(error);
    }
  }

  function hear(reply) {
    if (!flying || reply.id !== flying.question.id) return;
    const begun = flying;
    flying = null;
    if (reply.error) begun.reject(errorOf(reply.error));
    else if (begun.task && !("made" in reply.value)) goOn(begun, reply.value.share);
    else begun.resolve(begun.task ? reply.value.made : reply.value);
    next();
  }

  /** Queue the next slice of a task behind all other requests. */
  function goOn(begun, share) {
    if (begun.task.signal?.aborted || waiting.some(({ question }) => question.load)) {
      begun.reject(new Overtaken("nobody needs this task any more"));
      return;
    }
    begun.task.told?.(share);
    waiting.push({ ...begun, question: { ...begun.question, id: ++count } });
  }

  function died() {
    const isOver = state.restarts === MOST_RESTARTS;
    change(isOver ? { where: "stopped" } : { restarts: state.restarts + 1 });
    if (isOver) rejectAll("the engine of this page stopped twice");
    return !isOver;
  }

  /** Repeat the interrupted request in a new worker, after loading the model again. */
  function again() {
    const begun = flying;
    flying = null;
    const isLost = Boolean(begun?.question.photo); // its bitmap went with the worker
    if (isLost) begun?.reject(new Error("the engine of this page has stopped"));
    if (begun && !isLost) waiting.unshift(begun);
    if (model && !waiting.some(({ question }) => question.load))
      waiting.unshift(
        entry(
          { load: model },
          null,
          () => {},
          () => {},
        ),
      );
    next();
  }

  function rejectAll(why) {
    const all = flying ? [flying, ...waiting] : waiting;
    [flying, waiting] = [null, []];
    for (const { reject } of all) reject(new Error(why));
  }

  const entry = (question, lane, resolve, reject) => ({
    question: { ...question, id: ++count },
    lane,
    resolve,
    reject,
  });

  /**
   * @param {any} question
   * @param {string|null} lane
   * @param {{told?: (share: number) => void, signal?: AbortSignal}} [task]
   */
  function ask(question, lane, task) {
    return new Promise((resolve, reject) => {
      if (state.where === "stopped") {
        reject(new Error("the engine of this page has stopped"));
        return;
      }
      const isOld = (request) => question.load || request.lane === lane;
      const old = waiting.filter(isOld);
      waiting = [
        ...waiting.filter((request) => !isOld(request)),
        { ...entry(question, lane, resolve, reject), task },
      ];
      for (const request of old) request.reject(new Overtaken("a newer wish took the place of this one"));
      next();
    });
  }

  return {
    async load(buffer) {
      model = buffer;
      const facts = await ask({ load: buffer }, null);
      change({ simd: facts.simd });
      return facts;
    },
    run({ donors = {}, lane = "", interventions = [], ...wish }) {
      return ask({ wish: { ...wish, interventions, donors: takenFrom(donors, interventions) } }, lane);
    },
    see: (photo) => (DRAWS_IN_WORKERS ? ask({ photo }, "photo " + ++count) : seenOf(photo)),
    work(wish, of = {}) {
      const number = ++count;
      return ask({ task: { number, wish } }, "task " + number, of);
    },
    state: () => ({ ...state }),
    stop() {
      port.close();
      state.where = "stopped";
      rejectAll("the engine of this page has stopped");
    },
  };
}

/**
 * The donor tokens of each transplant, from the pass that it names; null for other interventions.
 * @param {Record<string, import("./core.js").Pass>} donors
 * @param {any[]} interventions
 */
function takenFrom(donors, interventions) {
  return interventions.map(({ kind, from, layer }) => {
    const donor = kind === "transplant" ? donors[from] : undefined;
    return donor?.tokens?.[layer] ? { tokens: donor.tokens[layer], width: donor.width } : null;
  });
}

/** Rebuild the error of a reply. */
export function errorOf({ kind, message, key, values }) {
  if (kind === "SelectionError") return new SelectionError(key, values);
  return kind === "FormatError" ? new FormatError(message) : Object.assign(new Error(message), { kind });
}
