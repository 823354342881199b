/** Inspect: runs the model of a file in this page, beside those that learn. */

import { createEngine } from "../engine/client.js";
import { FormatError, parseSafetensors, readMetadata } from "../maths/safetensors.js";
import { softmax } from "../maths/outputs.js";
import { digitAt } from "./digits.js";
import { CHANGES } from "./settings.js";

/** The patch sizes that explainers.js knows, as "height,width". */
const PATCHES = CHANGES.find(({ field }) => field === "patch").options.map(
  ({ value }) => value + "," + value,
);

/**
 * A model that was read for inspection.
 * @typedef {{facts: import("../engine/core.js").Facts, described: any,
 *   tensors: Record<string, import("../maths/safetensors.js").Tensor>}} Known
 */

/** The calibration temperature, by which a model divides its logits; 1 if its file has none. */
export function temperatureOf({ details }) {
  const given = Number(details?.temperature ?? 1);
  return given > 0 ? given : 1;
}

/**
 * The index of each class among the labels of a file. If the labels do not match the classes, digits keep
 * their order, and so do signs if the file has no labels; other labels of signs throw a FormatError.
 * @param {string[]} classes
 * @param {string[]|null} labels
 */
function placesOf(classes, labels) {
  const places = classes.map((name) => labels?.indexOf(name) ?? -1);
  if (!places.includes(-1)) return places;
  if (labels && !classes.every((name) => /^\d$/.test(name)))
    throw new FormatError(labels.join(", ") + "; not " + classes.join(", "));
  return classes.map((_, at) => at);
}

export function createInspector() {
  const engine = createEngine();
  let last = /** @type {Promise<any>} */ (Promise.resolve());
  /**
   * Runs tasks one after the other, because each needs the model that it has loaded.
   * @template Made
   * @param {() => Promise<Made>} task
   * @returns {Promise<Made>}
   */
  const alone = (task) => {
    const made = last.then(task);
    last = made.then(
      () => {},
      () => {},
    );
    return made;
  };
  /** @param {ArrayBuffer} buffer @returns {Promise<Known>} */
  const load = async (buffer) => ({
    facts: await engine.load(buffer),
    described: JSON.parse(readMetadata(buffer).vitviz),
    tensors: parseSafetensors(buffer),
  });
  return {
    stop: engine.stop,
    /** A model, and its pass of a digit. @param {ArrayBuffer} buffer @param {Uint8Array} picture */
    look: (buffer, picture) =>
      alone(async () => ({ known: await load(buffer), pass: await engine.run({ picture }) })),
    /** Reads a model file. @param {ArrayBuffer} buffer */
    read: (buffer) => alone(() => load(buffer)),
    /**
     * The answers of a model to digits, (digits x classes). Rejected with a FormatError for a model of
     * anything else.
     * @param {ArrayBuffer} buffer
     * @param {import("./playground.js").Digits} digits
     */
    answers: (buffer, { test, classes }) =>
      alone(async () => {
        const { facts } = await load(buffer);
        const { config, unknown } = facts;
        const { image_size: size, in_chans: channels, num_classes: count, patch_size: patch } = config;
        if (unknown.length > 0) throw new FormatError("this page does not know its " + unknown.join(", "));
        if (String(size) !== "28,28" || channels !== 1 || count !== classes.length)
          throw new FormatError(size.join(" x ") + ", " + count);
        if (!PATCHES.includes(String(patch))) {
          const known = PATCHES.map((size) => size.replace(",", " x ")).join(" or ");
          throw new FormatError(`patches of ${patch.join(" x ")}; not of ${known}`);
        }
        const order = placesOf(classes, facts.labels);
        const answers = new Float32Array(test.labels.length * count);
        for (let at = 0; at < test.labels.length; at++) {
          const { logits } = await engine.run({ picture: digitAt(test, at), answer: true });
          const shares = softmax(logits, temperatureOf(facts));
          answers.set(
            order.map((place) => shares[place]),
            at * count,
          );
        }
        return answers;
      }),
  };
}
