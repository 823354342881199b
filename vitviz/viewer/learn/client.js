/**
 * Client: the page's side of a model that learns in a worker or in the page.
 *
 *     const learner = createLearner({ told: ({ state, step, loss }) => ... });
 *     const { parameters, steps } = await learner.begin(settings, digits);   // DEFAULTS has settings
 *     learner.play();
 *     const { right } = await learner.measure();
 */

import { openPort, pagePort, workerPort } from "../engine/port.js";
import { WORKER, serving } from "./workertext.js";

/**
 * @typedef {import("./serving.js").Told} Told
 * @typedef {import("./trainer.js").Kept & {milliseconds: number}} Kept
 * @typedef {{parameters: number, steps: number, simd: boolean, config: any, mean: number, std: number}} Begun
 *   simd: whether by WebAssembly; in plain JavaScript it takes ten times as long
 * @typedef {{
 *   begin: (settings: Partial<import("./trainer.js").Settings>, digits: import("./trainer.js").Digits, kept?:
 *     Kept|null) => Promise<Begun>,
 *   play: () => Promise<Told>, pause: () => Promise<Told>, step: () => Promise<Told>, pace: (perSecond:
 *     number|null) => Promise<void>, keep: () => Promise<Kept>,
 *   measure: (count?: number) => Promise<import("./trainer.js").Measured>,
 *   weights: () => Promise<ArrayBuffer>,
 *   apart: (index: number, name?: string) => Promise<ReturnType<import("./trainer.js").Trainer["apart"]>>,
 *   teach: (taught: import("./linearhead.js").Taught) =>
 *     Promise<import("./linearhead.js").Learned>,
 *   where: () => "worker"|"page", stop: () => void,
 * }} Learner
 *   begin: start a run in place of the previous one, or continue one that was kept; rejected with a
 *   RangeError for invalid settings. The digits stay the page's.
 *   play: run to the last step; pause: stop after the current step; step: take one step, then pause. All
 *   three return the progress of the run.
 *   pace: the most steps a second; null: no limit
 *   keep: a snapshot, from which another learner can continue the run
 *   measure: test the current weights on all test digits, or on the first `count`: the share that is right,
 *   the mean loss, and the probabilities, (count, classes)
 *   weights: a .safetensors file that `vitviz.load` and engine/client.js read
 *   apart: the parts of a training step for one digit, without taking it; see trainer.js
 *   teach: a head for vectors of pictures, and how good it is; no run needs to have begun
 *   where: who computes; stop: end the learner, and reject all waiting and later requests
 */

/**
 * @param {{told?: (told: Told) => void, measured?: (found: import("./trainer.js").Measured) => void,
 *   taught?: (share: number) => void, worker?: string, ports?: import("../engine/port.js").Ports}} [options]
 *   told: called with the progress of the run, about ten times a second while it plays, and whenever it
 *   begins to play, pauses, steps, ends or stops; measured: called with the result on the test digits, after
 *   the same steps in each run of the same settings; see `isMeasured` of defaults.js; taught: called with the
 *   share of a head that is done; worker: its source text, "" for none
 * @returns {Learner}
 */
export function createLearner({
  told: report = () => {},
  measured = () => {},
  taught = () => {},
  worker = WORKER,
  ports = { worker: workerPort, page: pagePort(serving) },
} = {}) {
  /** @type {Map<number, {question: any, resolve: (value: any) => void, reject: (error: Error) => void}>} */
  const waiting = new Map();
  let [isOver, count, lost] = [false, 0, ""];
  let last = /** @type {Told} */ ({ state: "paused", step: 0, steps: 0, loss: null, rate: 0, seconds: 0 });
  const port = openPort(worker, ports, {
    hear,
    died() {
      end("the run was lost: the worker that learned has died");
      return false;
    },
    again() {
      for (const { question } of waiting.values()) port.post(question);
    },
  });

  function say(parts) {
    last = { ...last, ...parts };
    report(last);
  }

  function hear(reply) {
    if (isOver) return;
    if (reply.told) say(reply.told);
    if (reply.measured) measured(reply.measured);
    if (reply.taught) taught(reply.taught);
    const request = waiting.get(reply.id);
    if (!request) return;
    waiting.delete(reply.id);
    if (reply.error)
      request.reject(new (reply.error.kind === "RangeError" ? RangeError : Error)(reply.error.message));
    else {
      if (["play", "pause", "step"].includes(request.question.what)) say(reply.value);
      request.resolve(reply.value);
    }
  }

  function end(why) {
    if (isOver) return;
    isOver = true;
    lost = why;
    port.close();
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
    say({ state: "stopped" });
  }

  function ask(what, of) {
    return new Promise((resolve, reject) => {
      if (isOver) {
        reject(new Error("the learner of this page has stopped" + (lost && ": " + lost)));
        return;
      }
      const question = { id: ++count, what, of };
      port.post(question); // where it cannot be posted, it is rejected, and nothing waits for it
      waiting.set(question.id, { question, resolve, reject });
    });
  }

  return {
    async begin(settings, digits, kept = null) {
      const begun = await ask("begin", { settings, digits, kept });
      last = {
        state: "paused",
        step: kept?.step ?? 0,
        steps: begun.steps,
        loss: null,
        rate: settings.lr ?? 0,
        seconds: 0,
      };
      return begun;
    },
    play: () => ask("play"),
    pause: () => ask("pause"),
    step: () => ask("step"),
    pace: (perSecond) => ask("pace", { perSecond }),
    keep: () => ask("keep"),
    measure: (some) => ask("measure", { count: some }),
    weights: () => ask("weights"),
    apart: (index, name) => ask("apart", { index, name }),
    teach: (wanted) => ask("teach", wanted),
    where: port.where,
    stop: () => end("the learner of this page has stopped"),
  };
}
