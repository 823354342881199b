/** Every text of the viewer: six dictionaries of each language; bundle.py replaces this module. */

import { byLanguage, dictionary, prefixed } from "./dictionaries.js";

/**
 * Names of the texts about interventions and results of fair tests; only Python uses the others.
 */
const CHANGES = /^(did|in)_|_patch(es)?$|^fair_/; // as in bundle.py

/** @type {Record<string, Record<string, string>>} */
export const STRINGS = byLanguage((name) => ({
  ...dictionary(name, "viewer"),
  ...prefixed("lesson.", dictionary(name, "lessons")),
  ...prefixed("plan.", dictionary(name, "plans")),
  ...prefixed("check.", dictionary(name, "check")),
  ...prefixed("experiment.", dictionary(name, "experiments"), CHANGES),
}));

/** @type {Record<string, Record<string, string>>} */
export const GLOSSARY = byLanguage((name) => dictionary(name, "glossary"));
