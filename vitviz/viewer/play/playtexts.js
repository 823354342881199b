/** What the playground says, by language: `play.json` of each folder of `vitviz/languages`. */

// A browser cannot read folders: bundle.py replaces this module by one that contains the texts.
import { existsSync, readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

/** @type {Record<string, Record<string, string>>} */
export const TEXTS = Object.fromEntries(readdirSync(FOLDER, { withFileTypes: true })
  .map(({ name }) => ({ name, file: new URL(name + "/play.json", FOLDER) })).filter(({ file }) => existsSync(file))
  .map(({ name, file }) => [name, JSON.parse(readFileSync(file, "utf8"))]));
