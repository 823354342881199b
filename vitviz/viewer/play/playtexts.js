/**
 * The texts of the playground, by language: all of `play.json` and `own.json`, and a few of `models.json` and
 * `viewer.json`; bundle.py replaces this module.
 */

import { byLanguage, dictionary, prefixed } from "../text/dictionaries.js";

const SHARED = /^draw(Field|Help|Undo|Clear|Width|Ink|Pen)|^photoOnly$/; // as in bundle.py

/** @type {Record<string, Record<string, string>>} */
export const TEXTS = byLanguage((name) => ({
  ...dictionary(name, "play"),
  ...dictionary(name, "own"),
  ...prefixed("", dictionary(name, "models"), /^(left_out|none_of_these)$/),
  ...prefixed("", dictionary(name, "viewer"), SHARED),
}));
