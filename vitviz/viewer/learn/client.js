/**
 * Client: a model that learns in this page, asked from the page.
 *
 *     const learner = createLearner({ told: ({ state, step, loss }) => ... });
 *     const { parameters, steps } = await learner.begin(settings, digits);   // USUAL has settings
 *     learner.play();
 *     const { right } = await learner.measure();
 */

import { openPort, pagePort, workerPort } from "../engine/port.js";
import { serving } from "./serving.js";
import { WORKER } from "./workertext.js";

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
 *   where: () => "worker"|"page", stop: () => void,
 * }} Learner
 *   begin: a new run in place of the one before, or one that was kept, which goes on; rejected with a
 *   RangeError for settings that make none. The digits stay the page's. play: on to the last step; pause:
 *   after the step that is on its way; step: one step, and pause. They give how far the run is then. pace: so
 *   many steps a second at most, or null: as fast as it can; keep: what the run goes on from in another
 *   learner measure: of the test digits as it is now: the share that is right, the mean loss, and (count,
 *   classes) probabilities; of all, or the first so many. weights: a .safetensors file that `vitviz.load`
 *   reads, and engine/client.js
 *   apart: a step for one training digit, taken apart and not taken; see trainer.js
 *   where: what computes; stop: end it; everything that waits is rejected, and everything that is asked
 *   later.
 */

/**
 * @param {{told?: (told: Told) => void, measured?: (found: import("./trainer.js").Measured) => void,
 *   worker?: string, ports?: import("../engine/port.js").Ports}} [options]
 *   told: hears how far the run is, about ten times a second while it plays, and whenever it begins to play,
 *   pauses, steps, ends or stops; measured: hears what the test digits say, after the same steps in each run
 *   of the same settings; see `isMeasured` of trainer.js; worker: its text, "" for none
 * @returns {Learner}
 */
export function createLearner({
  told = () => {},
  measured = () => {},
  worker = WORKER,
  ports = { worker: workerPort, page: pagePort(serving) },
} = {}) {
  /** @type {Map<number, {question: any, resolve: (value: any) => void, reject: (error: Error) => void}>} */
  const waiting = new Map();
  let [isOver, count] = [false, 0];
  let last = /** @type {Told} */ ({ state: "paused", step: 0, steps: 0, loss: null, rate: 0, seconds: 0 });
  const port = openPort(worker, ports, {
    hear,
    died() {
      // what was learned is lost
      end("the run was lost: the worker that learned has died");
      return false;
    },
    again() {
      for (const { question } of waiting.values()) port.post(question);
    },
  });

  function say(parts) {
    last = { ...last, ...parts };
    told(last);
  }

  function hear(reply) {
    if (isOver) return;
    if (reply.told) say(reply.told);
    if (reply.measured) measured(reply.measured);
    const asked = waiting.get(reply.id);
    if (!asked) return;
    waiting.delete(reply.id);
    if (reply.error)
      asked.reject(new (reply.error.kind === "RangeError" ? RangeError : Error)(reply.error.message));
    else {
      if (["play", "pause", "step"].includes(asked.question.what)) say(reply.value);
      asked.resolve(reply.value);
    }
  }

  function end(why) {
    if (isOver) return;
    isOver = true;
    port.close();
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
    say({ state: "stopped" });
  }

  function ask(what, of) {
    return new Promise((resolve, reject) => {
      if (isOver) {
        reject(new Error("the learner of this page has stopped"));
        return;
      }
      const question = { id: ++count, what, of };
      waiting.set(question.id, { question, resolve, reject });
      port.post(question);
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
    where: port.where,
    stop: () => end("the learner of this page has stopped"),
  };
}
