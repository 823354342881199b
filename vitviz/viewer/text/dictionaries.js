/**
 * Dictionaries: what the folders of `vitviz/languages` hold, under Node. A browser cannot read folders:
 * bundle.py puts what they hold into the modules that import this one.
 */

import { existsSync, readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

const LANGUAGES = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith("_"))
  .map(({ name }) => name);

/**
 * The texts of a language in one of its dictionaries; {} if it has none.
 * @param {string} language
 * @param {string} subject
 * @returns {Record<string, string>}
 */
export function dictionary(language, subject) {
  const file = new URL(language + "/" + subject + ".json", FOLDER);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/**
 * Calls `make` for each language, and returns the results by language.
 * @template Made
 * @param {(language: string) => Made} make
 * @returns {Record<string, Made>}
 */
export const byLanguage = (make) => Object.fromEntries(LANGUAGES.map((name) => [name, make(name)]));

/**
 * Texts with a prefix, so that none can have the name of another text: all of them, or some by their names.
 * @param {string} prefix
 * @param {Record<string, string>} texts
 */
export const prefixed = (prefix, texts, named = /./) =>
  Object.fromEntries(
    Object.entries(texts)
      .filter(([key]) => named.test(key))
      .map(([key, text]) => [prefix + key, text]),
  );
