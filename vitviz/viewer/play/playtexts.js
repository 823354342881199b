/** What the playground says, by language: `play.json`, and of `viewer.json` what a pen field says; bundle.py replaces this module. */

import { byLanguage, dictionary, prefixed } from "../text/dictionaries.js";

const PEN = /^draw(Field|Help|Undo|Clear|Width|Ink|Pen)/; // as in bundle.py

/** @type {Record<string, Record<string, string>>} */
export const TEXTS = byLanguage((name) => ({ ...dictionary(name, "play"), ...prefixed("", dictionary(name, "viewer"), PEN) }));
