/** What is said of photos, of the camera, of many pictures, and of experiments (their keys after "experiment."), by language: `photo.json`, `camera.json`, `many.json` and `experiments.json` of each folder of `vitviz/languages`. */

// A browser cannot read folders: bundle.py replaces this module by one that contains the texts.
import { existsSync, readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

/** @param {string} language */
function textsOf(language) {
  const [photo, camera, many, experiments] = ["photo", "camera", "many", "experiments"].map((subject) => new URL(language + "/" + subject + ".json", FOLDER))
    .map((file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}));
  return { ...photo, ...camera, ...many, ...Object.fromEntries(Object.entries(experiments).map(([key, text]) => ["experiment." + key, text])) };
}

/** @type {Record<string, Record<string, string>>} */
export const PHOTO = Object.fromEntries(readdirSync(FOLDER, { withFileTypes: true }).filter((one) => one.isDirectory())
  .map(({ name }) => [name, textsOf(name)]).filter(([, texts]) => Object.keys(texts).length > 0));
