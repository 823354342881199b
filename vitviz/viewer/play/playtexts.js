/** What the playground says, by language: `play.json` of each folder of `vitviz/languages`, and of `viewer.json` what a pen field says. */

// A browser cannot read folders: bundle.py replaces this module by one that contains the texts.
import { existsSync, readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

const PEN = /^draw(Field|Help|Undo|Clear|Width|Ink|Pen)/; // as in bundle.py
const read = (name, subject) => {
  const file = new URL(name + "/" + subject + ".json", FOLDER);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
};

/** @type {Record<string, Record<string, string>>} */
export const TEXTS = Object.fromEntries(readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => [name, {
  ...read(name, "play"), ...Object.fromEntries(Object.entries(read(name, "viewer")).filter(([key]) => PEN.test(key))),
}]).filter(([, texts]) => Object.keys(texts).length > 0));
