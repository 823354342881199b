/** What is said of photos and of the camera, by language: `photo.json` and `camera.json` of each folder of `vitviz/languages`. */

// A browser cannot read folders: bundle.py replaces this module by one that contains the texts.
import { existsSync, readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

/** @param {string} language */
function textsOf(language) {
  const files = ["photo", "camera"].map((subject) => new URL(language + "/" + subject + ".json", FOLDER)).filter((file) => existsSync(file));
  return Object.assign({}, ...files.map((file) => JSON.parse(readFileSync(file, "utf8"))));
}

/** @type {Record<string, Record<string, string>>} */
export const PHOTO = Object.fromEntries(readdirSync(FOLDER, { withFileTypes: true }).filter((one) => one.isDirectory())
  .map(({ name }) => [name, textsOf(name)]).filter(([, texts]) => Object.keys(texts).length > 0));
