/**
 * Serving: answers messages with a trainer, and lets it learn step after step; in a worker, or in the page
 * where there may be none.
 */

import { bestKernels } from "../engine/kernels.js";
import { Trainer, USUAL, isMeasured } from "./trainer.js";

/** So often a page is told how far it is while it plays. */
const TELL_MS = 100;

/**
 * How far a run is. state: "stopped" is a run that cannot go on; loss: the mean of the steps since it was
 * told last; rate: the learning rate; seconds: that it has learned for.
 * @typedef {{state: "playing"|"paused"|"done"|"stopped", step: number, steps: number, loss: number|null,
 *   rate: number, seconds: number}} Told
 */

/**
 * What answers questions, {id, <what>: <with what>}, one after the other. measured: what the test digits say
 * after the steps of `isMeasured`, and after each where a run is slow.
 * @param {(event: {told: Told} | {measured: import("./trainer.js").Measured}) => void} tell
 * @param {(run: () => void, wait?: number) => void} later  runs something after what waits by now, or after
 *   so many milliseconds
 */
export function serving(tell, later) {
  /** @type {Trainer|null} */
  let trainer = null;
  let broken = /** @type {Error|null} */ (null);
  let [playing, lossSum, losses, milliseconds, toldAt, turn] = [false, 0, 0, 0, 0, 0];
  let [perSecond, steppedAt] = [Infinity, 0];
  let measuring = /** @type {Generator<void, import("./trainer.js").Measured>|null} */ (null);

  const known = () => {
    if (!trainer) throw new Error("no run has begun");
    if (broken) throw broken;
    return trainer;
  };
  /** @returns {Told} */
  const now = () => {
    const { stepsDone: step, steps, rate } = known();
    const state = step >= steps && !measuring ? "done" : playing ? "playing" : "paused";
    const loss = losses > 0 ? lossSum / losses : null;
    [lossSum, losses, toldAt] = [0, 0, performance.now()];
    return { state, step, steps, loss, rate, seconds: milliseconds / 1000 };
  };
  /** A piece of what is measured; whether it has ended. */
  const measure = () => {
    const { done, value } = measuring?.next() ?? { done: true, value: null };
    if (done) measuring = null;
    if (value) tell({ measured: value });
    return done;
  };
  /** What was begun to be measured is, before anything moves the weights. */
  const settle = () => {
    while (!measure());
  };
  /**
   * One step; false: it was none, and all that is asked later is answered with the reason, until another run
   * begins.
   */
  const take = () => {
    const begun = performance.now();
    try {
      const run = known();
      const { loss } = run.step();
      milliseconds += performance.now() - begun;
      lossSum += loss;
      losses += 1;
      if (perSecond < Infinity || isMeasured(run.stepsDone, run.steps)) measuring = run.measuring();
      return true;
    } catch (error) {
      tell({ told: { ...now(), state: "stopped" } });
      [playing, broken] = [false, error];
      return false;
    }
  };
  /** Steps of one play, and what is measured between them; a pause in between ends it. */
  const goOn = (mine) => {
    if (!playing || mine !== turn) return;
    if (measuring) measure();
    else {
      const wait = steppedAt + 1000 / perSecond - performance.now();
      if (wait > 1) {
        later(() => goOn(mine), wait);
        return;
      }
      steppedAt = performance.now();
      if (!take()) return;
    }
    playing = measuring !== null || known().stepsDone < known().steps;
    if (!playing || performance.now() - toldAt >= TELL_MS) tell({ told: now() });
    if (playing) later(() => goOn(mine));
  };
  const answers = {
    begin({ settings, digits, kept = /** @type {any} */ (null) }) {
      [playing, broken, trainer, measuring] = [false, null, null, null];
      [lossSum, losses, milliseconds] = [0, 0, kept?.milliseconds ?? 0];
      trainer = new Trainer({ ...USUAL, ...settings }, digits, bestKernels, { kept });
      const { steps, m, described, mean, std } = trainer;
      return { parameters: m.layout.count, steps, simd: m.kernels.simd, config: described, mean, std };
    },
    play() {
      if (playing || (known().stepsDone >= known().steps && !measuring)) return now();
      [playing, steppedAt] = [true, -Infinity];
      const mine = ++turn;
      later(() => goOn(mine));
      return now();
    },
    pause() {
      playing = false;
      return now();
    },
    step() {
      playing = false;
      settle();
      if (known().stepsDone < known().steps) take();
      return now();
    },
    pace({ perSecond: wanted }) {
      perSecond = wanted ?? Infinity;
      turn += 1; // a wait may be longer than the new one
      const mine = turn;
      if (playing) later(() => goOn(mine));
    },
    keep: () => ({ ...known().keep(), milliseconds }),
    measure({ count }) {
      if (count === undefined) measuring = null; // it is what was begun
      return known().measure(count);
    },
    weights: () => known().weights(),
    apart: ({ index, name }) => known().apart(index, name),
  };
  return ({ id, what, of }) => {
    try {
      return { id, value: answers[what](of ?? {}) };
    } catch (error) {
      return {
        id,
        error: { kind: error instanceof RangeError ? "RangeError" : "Error", message: String(error.message) },
      };
    }
  };
}
