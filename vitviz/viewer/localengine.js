/**
 * Local engine: functions that compute passes in the page. They come as a file of their own, when strokes, a
 * photo or the camera are near.
 */

import { analysed } from "./data/localanalysis.js";
import { explanationFile, fairStep } from "./data/localexplanations.js";
import { answerFile, filesOf, labelsOf, named } from "./data/localpayload.js";
import { savedOf } from "./data/saved.js";
import { createEngine } from "./engine/client.js";
import { weightsOf } from "./maths/draws.js";
import { cutTo } from "./maths/pixels.js";
import { parseSafetensors, readMetadata, writeSafetensors } from "./maths/safetensors.js";
import { createMany } from "./many/sheet.js";
import { createLiving } from "./stage/livecamera.js";
import { saidOf } from "./text/phototold.js";

/**
 * Checkpoint of a model before its training, as Python would write it.
 * @param {import("./maths/draws.js").Draws & {vitviz: string}} told  vitviz: metadata of the checkpoint, JSON
 */
const twinOf = ({ vitviz, ...draws }) => writeSafetensors(weightsOf(draws), { vitviz });

/**
 * Checkpoint with the weights of one file, and with the linear head and the metadata of another.
 * @param {{weights: ArrayBuffer, head: ArrayBuffer}} files
 */
const headedOf = ({ weights, head }) =>
  writeSafetensors({ ...parseSafetensors(weights), ...parseSafetensors(head) }, readMetadata(head));

/**
 * Starts an engine with a model. Rejected with a FormatError if `given` is no model.
 * @param {ArrayBuffer|any} given  a .safetensors file of vitviz, or two such files (weights, head), or the
 *   draws of an untrained twin
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
 *   analysed: (wanted: Omit<import("./data/localanalysis.js").Wanted, "say">) => ReturnType<typeof analysed>}}
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
