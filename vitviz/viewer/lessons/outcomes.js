/**
 * Outcomes: the answers of the model after the experiments of a lesson, each requested once. Does not use the
 * document.
 */

import { experimentIn } from "./experiments.js";
import { read } from "../state/experiment.js";

/**
 * @typedef {{manifest: {pass: Pick<import("../types.js").PassResults, "predictions"|"probabilities">}}}
 *   Outcome
 */
/** @typedef {ReturnType<typeof createOutcomes>} Outcomes */

/**
 * @param
 *   {null|((interventions: import("../state/experiment.js").Intervention[],
 *     source: import("../data/source.js").Source) => Promise<any>)}
 *   operate
 *   gives the results of an analysis after an experiment; null where nobody can
 * @param {Record<string, Outcome["manifest"]["pass"]>} brought  those that came with the page, by their texts
 *   in the lesson
 * @param {() => void} onProgress
 */
export function createOutcomes(operate, brought, onProgress) {
  /** @type {Map<string, Outcome|null|undefined>} */
  const known = new Map();
  let last = Promise.resolve();

  return {
    /**
     * The outcome of an experiment: null while it is computed, undefined where it cannot be.
     * @param {string} text  as a step has it
     * @param {import("../data/source.js").Source} source
     * @returns {Outcome|null|undefined}
     */
    of(text, source) {
      if (Object.hasOwn(brought, text)) return { manifest: { pass: brought[text] } };
      const experiment = operate ? experimentIn(text, source) : undefined;
      if (!experiment) return /** @type {null|undefined} */ (experiment);
      const key = source.manifest.pass.id + "/" + experiment;
      if (!known.has(key)) {
        known.set(key, null);
        // One after another: each is a pass of the model, and others wait for theirs.
        last = last.then(() => ask(key, experiment, source));
      }
      return known.get(key);
    },
    /** Forgets what could not be had, so that it is asked for again. */
    retry() {
      for (const [key, outcome] of known) if (outcome === undefined) known.delete(key);
    },
  };

  async function ask(key, experiment, source) {
    try {
      const { predictions, probabilities } = await operate(read(experiment), source);
      known.set(key, { manifest: { pass: { predictions, probabilities } } });
    } catch {
      known.set(key, undefined); // the question says that it has no answer here
    }
    onProgress();
  }
}
