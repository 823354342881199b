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
 *   in the lesson; of the analysis that came with the page alone
 * @param {() => void} onProgress
 */
export function createOutcomes(operate, brought, onProgress) {
  /** @type {Map<string, Outcome|Error|null>} */
  const known = new Map();
  const keyOf = (experiment, source) => source.manifest.pass.id + "/" + experiment;
  let last = Promise.resolve();

  return {
    /**
     * The outcome of an experiment: null while it is computed, undefined where it cannot be.
     * @param {string} text  as a step has it
     * @param {import("../data/source.js").Source} source
     * @returns {Outcome|null|undefined}
     */
    of(text, source) {
      // a photo that is analysed here has its own
      if (!source.manifest.template && Object.hasOwn(brought, text))
        return { manifest: { pass: brought[text] } };
      const experiment = operate ? experimentIn(text, source) : undefined;
      if (!experiment) return /** @type {null|undefined} */ (experiment);
      const key = keyOf(experiment, source);
      if (!known.has(key)) {
        known.set(key, null);
        // One after another: each is a pass of the model, and others wait for theirs.
        last = last.then(() => ask(key, experiment, source));
      }
      const outcome = known.get(key);
      return outcome instanceof Error ? undefined : outcome;
    },
    /** Why the outcome of an experiment could not be had; null where it was not asked for, or came. */
    failure(text, source) {
      const outcome = known.get(keyOf(experimentIn(text, source), source));
      return outcome instanceof Error ? outcome : null;
    },
    /** Forgets what could not be had, so that it is asked for again. */
    retry() {
      for (const [key, outcome] of known) if (outcome instanceof Error) known.delete(key);
    },
  };

  async function ask(key, experiment, source) {
    try {
      const { predictions, probabilities } = await operate(read(experiment), source);
      known.set(key, { manifest: { pass: { predictions, probabilities } } });
    } catch (error) {
      known.set(key, error); // the lesson says why, and it can be asked for again
    }
    onProgress();
  }
}
