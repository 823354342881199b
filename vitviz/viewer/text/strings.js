/** Every text of the viewer, per language: `viewer.json` in each folder of `vitviz/languages`. */

// A browser cannot read folders: bundle.py replaces this module by one that contains the texts.
import { readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

const texts = (name) => JSON.parse(readFileSync(new URL(name + "/viewer.json", FOLDER), "utf8"));

/** @type {Record<string, Record<string, string>>} */
export const STRINGS = Object.fromEntries(readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith("_"))
  .map(({ name }) => [name, texts(name)]));
