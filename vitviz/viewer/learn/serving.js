/** Serving: answers messages with a trainer, and lets it learn step after step; in a worker, or in the page where there may be none. */

import { bestKernels } from "../engine/kernels.js";
import { Trainer, USUAL } from "./trainer.js";

/** So often a page is told how far it is while it plays. */
const TELL_MS = 100;

/**
 * How far a run is. state: "stopped" is a run that cannot go on; loss: the mean of the steps since it was told last; rate: the learning rate; seconds: that it has learned for.
 * @typedef {{state: "playing"|"paused"|"done"|"stopped", step: number, steps: number, loss: number|null, rate: number, seconds: number}} Told
 */

/**
 * What answers questions, {id, <what>: <with what>}, one after the other.
 * @param {(event: {told: Told}) => void} tell
 * @param {(run: () => void) => void} later  runs something after what waits by now
 */
export function serving(tell, later) {
  /** @type {Trainer|null} */
  let trainer = null;
  let broken = /** @type {Error|null} */ (null);
  let [playing, lossSum, losses, milliseconds, toldAt, turn] = [false, 0, 0, 0, 0, 0];

  const known = () => {
    if (!trainer) throw new Error("no run has begun");
    if (broken) throw broken;
    return trainer;
  };
  /** @returns {Told} */
  const now = () => {
    const { stepsDone: step, steps, rate } = known();
    const state = step >= steps ? "done" : playing ? "playing" : "paused";
    const loss = losses > 0 ? lossSum / losses : null;
    [lossSum, losses, toldAt] = [0, 0, performance.now()];
    return { state, step, steps, loss, rate, seconds: milliseconds / 1000 };
  };
  /** One step; false: it was none, and all that is asked later is answered with the reason, until another run begins. */
  const take = () => {
    const begun = performance.now();
    try {
      const { loss } = known().step();
      milliseconds += performance.now() - begun;
      lossSum += loss;
      losses += 1;
      return true;
    } catch (error) {
      tell({ told: { ...now(), state: "stopped" } });
      [playing, broken] = [false, error];
      return false;
    }
  };
  /** Steps of one play; a pause in between ends it. */
  const goOn = (mine) => {
    if (!playing || mine !== turn || !take()) return;
    playing = known().stepsDone < known().steps;
    if (!playing || performance.now() - toldAt >= TELL_MS) tell({ told: now() });
    if (playing) later(() => goOn(mine));
  };
  const answers = {
    begin({ settings, digits }) {
      [playing, broken] = [false, null];
      [lossSum, losses, milliseconds] = [0, 0, 0];
      trainer = null;
      trainer = new Trainer({ ...USUAL, ...settings }, digits, bestKernels);
      const { steps, m, described, mean, std } = trainer;
      return { parameters: m.layout.count, steps, simd: m.kernels.simd, config: described, mean, std };
    },
    play() {
      if (playing || known().stepsDone >= known().steps) return now();
      playing = true;
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
      if (known().stepsDone < known().steps) take();
      return now();
    },
    measure: ({ count }) => known().measure(count),
    weights: () => known().weights(),
    apart: ({ index, name }) => known().apart(index, name),
  };
  return ({ id, what, of }) => {
    try {
      return { id, value: answers[what](of ?? {}) };
    } catch (error) {
      return { id, error: { kind: error instanceof RangeError ? "RangeError" : "Error", message: String(error.message) } };
    }
  };
}
