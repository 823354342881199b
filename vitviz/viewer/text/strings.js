/** Every text of the viewer, per language: three dictionaries in each folder of `vitviz/languages`. */

// A browser cannot read folders: bundle.py replaces this module by one that contains the texts.
import { existsSync, readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../../languages/", import.meta.url);

const LANGUAGES = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith("_")).map(({ name }) => name);

/** What each language says in one of its dictionaries; {} where it has none. */
function texts(subject) {
  return Object.fromEntries(LANGUAGES.map((name) => {
    const file = new URL(name + "/" + subject + ".json", FOLDER);
    return [name, existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}];
  }));
}

/** The texts of lessons have a prefix, so that none can have the name of another text. */
function withLessons(strings, lessons) {
  const prefixed = (said) => Object.fromEntries(Object.entries(said).map(([key, text]) => ["lesson." + key, text]));
  return Object.fromEntries(LANGUAGES.map((name) => [name, { ...strings[name], ...prefixed(lessons[name]) }]));
}

/** @type {Record<string, Record<string, string>>} */
export const STRINGS = withLessons(texts("viewer"), texts("lessons"));

/** @type {Record<string, Record<string, string>>} */
export const GLOSSARY = texts("glossary");
