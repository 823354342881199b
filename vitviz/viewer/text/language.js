/** The languages of the viewer, and how a language tag chooses one. */

import { STRINGS } from "./strings.js";

const TAG_LETTERS = 35; // of the longest tag that is read: RFC 5646, section 4.4.1

/** @typedef {string} Language  the name of a folder in `vitviz/languages` */

/**
 * The language of the viewer for a language tag: "ko-KR" is Korean, "kok" is Konkani and not Korean;
 * an unknown tag, or one that is longer than any, gives English. RFC 4647, section 3.4 (lookup).
 * @param {any} tag  as in `<html lang>`: BCP 47, in any case, also with underscores; or nothing
 * @returns {Language}
 */
export function languageOf(tag) {
  const text = String(tag ?? "")
    .trim()
    .toLowerCase();
  const parts = text.length > TAG_LETTERS ? [] : text.split(/[-_]/);
  for (let count = parts.length; count > 0; count--) {
    const candidate = parts.slice(0, count).join("-");
    const found = Object.keys(STRINGS).find((language) => language.toLowerCase() === candidate);
    if (found) return found;
  }
  return "en";
}

/**
 * The language after this one, for a button that goes through all in a circle.
 * @param {any} tag
 * @returns {Language}
 */
export function nextLanguage(tag) {
  const all = Object.keys(STRINGS);
  return all[(all.indexOf(languageOf(tag)) + 1) % all.length];
}

/**
 * The name of a language: "Korean" in English, "한국어" in Korean.
 * @param {Language} language
 * @param {Language} speaking
 * @returns {string}
 */
export function languageName(language, speaking) {
  return new Intl.DisplayNames([speaking, "en"], { type: "language" }).of(language) ?? language;
}
