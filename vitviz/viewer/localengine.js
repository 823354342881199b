/**
 * Local engine: functions that compute passes in the page. They come as a file of their own, when strokes, a
 * photo or the camera are near.
 */

import { analysed } from "./data/analysed.js";
import { explanationFile, fairStep } from "./data/explained.js";
import { answerFile, filesOf, labelsOf, named } from "./data/made.js";
import { savedOf } from "./data/saved.js";
import { createEngine } from "./engine/client.js";
import { weightsOf } from "./maths/draws.js";
import { cutTo } from "./maths/pixels.js";
import { parseSafetensors, readMetadata, writeSafetensors } from "./maths/safetensors.js";
import { createMany } from "./many/sheet.js";
import { createLiving } from "./stage/living.js";
import { saidOf } from "./text/phototold.js";

/**
 * A model before its training, as the checkpoint that Python would write.
 * @param {import("./maths/draws.js").Draws & {vitviz: string}} told  vitviz: what that says of itself
 */
const twinOf = ({ vitviz, ...draws }) => writeSafetensors(weightsOf(draws), { vitviz });

/**
 * A model with the linear head of another file, and with what that says of itself.
 * @param {{weights: ArrayBuffer, head: ArrayBuffer}} files
 */
const headedOf = ({ weights, head }) =>
  writeSafetensors({ ...parseSafetensors(weights), ...parseSafetensors(head) }, readMetadata(head));

/**
 * A model that runs in this page. Rejected with a FormatError for what is none.
 * @param {ArrayBuffer|any} given  a .safetensors file of vitviz, or two of which the second has the head, or what
 *   an untrained twin is drawn from
 * @param {(state: import("./engine/client.js").State) => void} [told]  hears each change of the engine
 */
async function started(given, told) {
  const buffer = given instanceof ArrayBuffer ? given : given.head ? headedOf(given) : twinOf(given);
  const engine = createEngine({ told });
  const facts = await engine.load(buffer).catch((error) => {
    engine.stop();
    throw error;
  });
  const preprocess = cutTo(facts.preprocess, facts.config.image_size);
  return {
    engine,
    known: {
      facts: { ...facts, preprocess },
      described: JSON.parse(readMetadata(buffer).vitviz),
      tensors: parseSafetensors(buffer),
    },
  };
}

/**
 * said: a text about a photo in every language.
 * @typedef {{started: typeof started, answerFile: typeof answerFile, filesOf: typeof filesOf,
 *   labelsOf: typeof labelsOf, named: typeof named, savedOf: typeof savedOf, said: typeof saidOf,
 *   explanationFile: typeof explanationFile, fairStep: typeof fairStep, living: typeof createLiving,
 *   many: typeof createMany,
 *   analysed: (wanted: Omit<import("./data/analysed.js").Wanted, "say">) => ReturnType<typeof analysed>}}
 *     LocalEngine
 */

/** @type {LocalEngine} */
export const running = {
  started,
  answerFile,
  filesOf,
  labelsOf,
  named,
  savedOf,
  said: saidOf,
  explanationFile,
  fairStep,
  living: createLiving,
  many: createMany,
  analysed: (wanted) => analysed({ ...wanted, say: saidOf }),
};
