/** Model export: shows a model of the playground in the viewer, saves it, reads it back, and looks inside. */

import { LIMITS } from "../engine/tables.js";
import { grouped } from "../maths/numbers.js";
import { FormatError } from "../maths/safetensors.js";
import { download } from "../parts/download.js";
import { templateOf } from "./adopted.js";
import { fileOf } from "./digits.js";
import { createInspector } from "./inspect.js";
import { TEXTS } from "./playtexts.js";
import { textsIn } from "./texts.js";
import { nameOf, written } from "./settings.js";

const LOOKED_MS = 1500; // pause between two looks inside while the model learns
const LONGEST_NAME = 40;
let opened = 0; // number of models that were opened in the viewer
const MOST_BYTES = 4 * LIMITS.parameters + 4e6; // of a file: the parameters and the header

/**
 * The selected picture (28 * 28), and its name.
 * @typedef {{key: string, at?: number, pixels: Uint8Array}} Shown  at: its place in the test
 */

/**
 * @param {import("./runs.js").Runs} runs @param {import("./playground.js").Digits} digits
 * @param {(adopted: import("../session/playing.js").Adopted) => Promise<any>} adopt
 */
export function createModelExport(runs, digits, adopt) {
  let [inspector, last, lookedAt] = [/** @type {ReturnType<typeof createInspector>|null} */ (null), "", 0];
  const inspecting = () => (inspector ??= createInspector());
  const forget = () => (last = "");
  return { look, forget, show, save, load, stop: () => inspector?.stop() };

  /**
   * A pass of the model of a run for the panel "inside", at most every few seconds while the run learns. null
   * if nothing is new, or nobody sees the panel (`isSeen` is called last, because it makes the browser
   * compute the layout).
   * @param {import("./runs.js").Run} run @param {Shown} shown @param {() => boolean} isSeen
   * @returns {Promise<import("./inside.js").Looked|null>}
   */
  async function look(run, { key, at, pixels }, isSeen) {
    const wanted = [run.number, run.step, key, at].join();
    const soon = run.state === "playing" && performance.now() < lookedAt + LOOKED_MS;
    if (
      last === wanted ||
      soon ||
      (!run.weights && (!run.learner || run.state === "coming" || run.state === "failed")) ||
      !isSeen()
    )
      return null;
    [last, lookedAt] = [wanted, performance.now()];
    const step = run.name === null ? run.step : null;
    const weights = await runs.weights(run).catch((error) => {
      if (run.learner) throw error;
      return null; // it was stopped meanwhile
    });
    const found = weights && run === runs.current && (await inspecting().look(weights, pixels));
    if (found && run === runs.current) return { ...found, step };
    if (last === wanted) forget(); // another run is looked at: this one is looked at again when it is chosen
    return null;
  }

  /**
   * The model as it is now, with a picture, as any other model of the viewer.
   * @param {import("./runs.js").Run} run
   * @param {Shown} shown
   */
  async function show(run, { key, pixels }) {
    const { learner } = run;
    const [{ right }, buffer] = await Promise.all([
      learner && run.state !== "failed" ? learner.measure() : run, // as it is at this step
      runs.weights(run),
    ]);
    const { facts, ...rest } = await inspecting().read(buffer);
    // a file need not name them
    const known = { ...rest, facts: { ...facts, labels: facts.labels ?? digits.classes } };
    const names = Object.fromEntries(
      Object.keys(TEXTS).map((language) => {
        const say = textsIn(language);
        return [
          language,
          run.name ?? say("modelName", { name: nameOf(run.settings, say), step: grouped(run.step) }),
        ];
      }),
    );
    const name = key + ".png";
    opened += 1;
    const template = templateOf(known, {
      key: "playground-" + opened,
      file: fileOfRun(run),
      names,
      right: isOfWhole(run) ? (right ?? undefined) : undefined,
      pictures: digits.test.labels.length,
    });
    await adopt({ template, buffer, photo: { file: await fileOf(pixels, name), name } });
  }

  /** @param {import("./runs.js").Run} run */
  async function save(run) {
    download(new Blob([await runs.weights(run)]), fileOfRun(run));
  }

  /**
   * A model of digits becomes a run that has learned. Rejected with a FormatError for anything else.
   * @param {File} file
   */
  async function load(file) {
    if (file.size > MOST_BYTES)
      throw new FormatError(
        Math.round(file.size / 1e6) + " MB; at most " + MOST_BYTES / 1e6 + " MB are read",
      );
    const buffer = await file.arrayBuffer();
    runs.add(
      file.name.replace(/\.safetensors$/, "").slice(0, LONGEST_NAME),
      buffer,
      await inspecting().answers(buffer, digits),
    );
  }
}

/**
 * Whether the file of a run answers ordinary pictures as the run answers those that it learned. If the run
 * moves patches, that holds without positions, or with learned ones if all pictures are moved alike: the file
 * then has the positions back in order.
 * @param {import("./runs.js").Run} run
 */
function isOfWhole({ name, settings: { patches, positions } }) {
  if (name !== null || patches === "ordered" || positions === "none") return true;
  return patches === "same" && positions === "learned";
}

/** The name of the file in which the model of a run is saved. @param {import("./runs.js").Run} run */
function fileOfRun({ name, settings, step }) {
  return (name ?? ["playground", written(settings).replaceAll("*", "-"), step].join("-")) + ".safetensors";
}
