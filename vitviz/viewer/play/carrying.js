/** Carrying: what becomes of a model of the playground: it is looked into, shown in the viewer, saved, and read back. */

import { grouped } from "../maths/numbers.js";
import { download } from "../parts/download.js";
import { templateOf } from "./adopted.js";
import { digitAt, fileOf } from "./digits.js";
import { createLooking } from "./looking.js";
import { TEXTS } from "./playtexts.js";
import { sayingIn } from "./saying.js";
import { nameOf, written } from "./settings.js";

const LOOKED_MS = 1500; // so often it is looked inside while it learns
const LONGEST_NAME = 40;

/**
 * @param {import("./runs.js").Runs} runs @param {import("./playground.js").Digits} digits
 * @param {(adopted: import("../playing.js").Adopted) => Promise<any>} adopt
 */
export function createCarrying(runs, digits, adopt) {
  let [looking, last, lookedAt, count] = [/** @type {ReturnType<typeof createLooking>|null} */ (null), "", 0, 0];
  const looker = () => (looking ??= createLooking());
  return { look, show, save, load };

  /**
   * What is inside a run, if there is news, somebody sees it (`isSeen` is asked last: the page is laid out for it), and the last look is some
   * time ago; null: there is not.
   * @param {import("./runs.js").Run} run @param {number} chosen  a test digit @param {() => boolean} isSeen
   * @returns {Promise<import("./inside.js").Looked|null>}
   */
  async function look(run, chosen, isSeen) {
    const wanted = [run.number, run.step, chosen].join();
    const soon = run.state === "playing" && performance.now() < lookedAt + LOOKED_MS;
    if (last === wanted || soon || (!run.weights && (!run.learner || run.state === "coming" || run.state === "failed")) || !isSeen()) return null;
    [last, lookedAt] = [wanted, performance.now()];
    const step = run.name === null ? run.step : null;
    const weights = await runs.weights(run).catch((error) => {
      if (run.learner) throw error;
      return null; // it was stopped meanwhile
    });
    if (!weights || run !== runs.current) return null;
    return { ...await looker().look(weights, digitAt(digits.test, chosen)), step };
  }

  /** The model as it is now, with a test digit, as any other model of the viewer. @param {import("./runs.js").Run} run @param {number} chosen */
  async function show(run, chosen) {
    const buffer = await runs.weights(run);
    const known = await looker().read(buffer);
    const names = Object.fromEntries(Object.keys(TEXTS).map((language) => {
      const say = sayingIn(language);
      return [language, run.name ?? say("modelName", { name: nameOf(run.settings, say), step: grouped(run.step) })];
    }));
    const name = "digit-" + digits.classes[digits.test.labels[chosen]] + ".png";
    count += 1;
    const template = templateOf(known, { key: "playground-" + count, names, right: run.rights.at(-1)?.value, pictures: digits.test.labels.length });
    await adopt({ template, buffer, photo: { file: await fileOf(digitAt(digits.test, chosen), name), name } });
  }

  /** @param {import("./runs.js").Run} run */
  async function save(run) {
    const name = run.name ?? ["playground", written(run.settings).replaceAll("*", "-"), run.step].join("-");
    download(new Blob([await runs.weights(run)]), name + ".safetensors");
  }

  /** A model of digits becomes a run that has learned. Rejected with a FormatError for anything else. @param {File} file */
  async function load(file) {
    const buffer = await file.arrayBuffer();
    runs.add(file.name.replace(/\.safetensors$/, "").slice(0, LONGEST_NAME), buffer, await looker().answers(buffer, digits));
  }
}
