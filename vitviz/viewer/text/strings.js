/** Every text of the viewer: six dictionaries of each folder of `vitviz/languages`, and the code under the panels. */

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

/** Names of the texts that say what an intervention does; the others are said by Python alone. */
const CHANGES = /^(did|in)_|_patch(es)?$/;

/** The texts of lessons, plans, the self-check and experiments have a prefix, so that none can have the name of another text. */
function withOthers(strings, lessons, plans, check, experiments) {
  const prefixed = (said, prefix, named = /./) => Object.fromEntries(Object.entries(said)
    .filter(([key]) => named.test(key)).map(([key, text]) => [prefix + key, text]));
  return Object.fromEntries(LANGUAGES.map((name) => [name,
    { ...strings[name], ...prefixed(lessons[name], "lesson."), ...prefixed(plans[name], "plan."), ...prefixed(check[name], "check."), ...prefixed(experiments[name], "experiment.", CHANGES) }]));
}

/** @type {Record<string, Record<string, string>>} */
export const STRINGS = withOthers(texts("viewer"), texts("lessons"), texts("plans"), texts("check"), texts("experiments"));

/** @type {Record<string, Record<string, string>>} */
export const GLOSSARY = texts("glossary");

/** Python with vitviz's own functions, and with plain PyTorch. @type {Record<string, string>} */
export const SNIPPETS = Object.fromEntries(["vitviz", "torch"].map((kind) =>
  [kind, readFileSync(new URL("../snippets/with_" + kind + ".py", import.meta.url), "utf8")]));
