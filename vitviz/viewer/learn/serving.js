/**
 * Serving: answers messages with a trainer and plays its steps, in a worker or in the page.
 */

import { bestKernels } from "../engine/kernels.js";
import { learned } from "./linearhead.js";
import { Trainer } from "./trainer.js";
import { DEFAULTS, isMeasured } from "./defaults.js";

/** Interval between reports of the progress while a run plays. */
const TELL_MS = 100;

/**
 * Progress of a run. state: "stopped" is a run that cannot continue; loss: the mean over the steps since the
 * last report; rate: the learning rate; seconds: training time.
 * @typedef {{state: "playing"|"paused"|"done"|"stopped", step: number, steps: number, loss: number|null,
 *   rate: number, seconds: number}} Told
 */

/**
 * Make a function that answers questions, {id, what, of}.
 * @param {(event: {told: Told} | {measured: import("./trainer.js").Measured} | {taught: number}) => void} tell
 *   called with progress, and with results on the test digits, after the steps of `isMeasured`, or after each
 *   step of a slowed run; taught: the share of a head that is done
 * @param {(run: () => void, wait?: number) => void} later  runs a function after those that wait already, or
 *   after so many milliseconds
 */
export function serving(tell, later) {
  /** @type {Trainer|null} */
  let trainer = null;
  let broken = /** @type {Error|null} */ (null);
  let [playing, lossSum, losses, milliseconds, reportedAt, turn] = [false, 0, 0, 0, 0, 0];
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
    [lossSum, losses, reportedAt] = [0, 0, performance.now()];
    return { state, step, steps, loss, rate, seconds: milliseconds / 1000 };
  };
  /** Continue the measurement by one piece; returns whether it has ended. */
  const measure = () => {
    const { done, value } = measuring?.next() ?? { done: true, value: null };
    if (done) measuring = null;
    if (value) tell({ measured: value });
    return done;
  };
  /** Finish the measurement before the weights change. */
  const settle = () => {
    while (!measure());
  };
  /**
   * Take one step. Returns false if it failed; until another run begins, later requests are then rejected
   * with the error.
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
  /** Take the steps of one `play`, and measure between them. `mine`: its turn; a newer one ends it. */
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
    if (!playing || performance.now() - reportedAt >= TELL_MS) tell({ told: now() });
    if (playing) later(() => goOn(mine));
  };
  const answers = {
    begin({ settings, digits, kept = /** @type {any} */ (null) }) {
      [playing, broken, trainer, measuring] = [false, null, null, null];
      [lossSum, losses, milliseconds] = [0, 0, kept?.milliseconds ?? 0];
      trainer = new Trainer({ ...DEFAULTS, ...settings }, digits, bestKernels, { kept });
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
      turn += 1; // the current wait may be longer than the new one
      const mine = turn;
      if (playing) later(() => goOn(mine));
    },
    keep: () => ({ ...known().keep(), milliseconds }),
    measure({ count }) {
      if (count === undefined) measuring = null; // this measurement replaces the one under way
      return known().measure(count);
    },
    weights: () => known().weights(),
    apart: ({ index, name }) => known().apart(index, name),
    teach(taught) {
      const learning = learned(taught);
      let next = learning.next();
      for (; !next.done; next = learning.next()) tell({ taught: /** @type {number} */ (next.value) });
      return next.value;
    },
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
