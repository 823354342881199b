/** Late texts: loads texts that are not in the bundle from files of their own: a language, and its lessons. */

import { languageOf } from "./language.js";
import { GLOSSARY, STRINGS } from "./strings.js";

/** @typedef {import("./language.js").Language} Language */

/**
 * Loads the texts of a language once; `learnLessons` loads those of lessons.
 * @param {any} tag  as in `<html lang>`
 * @param {null|import("../types.js").Texts} [fetchTexts]  null: all are here
 * @returns {Promise<boolean>}  false where they cannot be had; the host says why
 */
export async function learn(tag, fetchTexts = null) {
  const language = languageOf(tag);
  return !fetchTexts || Object.keys(STRINGS[language]).length > 0 || fetched(language, fetchTexts(language));
}

/** A language whose texts are here. @returns {Language} */
export const languageHere = () =>
  Object.keys(STRINGS).find((one) => Object.keys(STRINGS[one]).length > 0) ?? "en";

/** Whether the texts of lessons are here. @param {Language} language */
export const knowsLessons = (language) => "lesson.cut" in STRINGS[language];

/**
 * Loads the texts of lessons, which are only needed once a lesson is opened.
 * @param {Language} language
 * @param {null|import("../types.js").Texts} fetchTexts
 */
export async function learnLessons(language, fetchTexts) {
  return !fetchTexts || knowsLessons(language) || fetched(language, fetchTexts(`lessons-${language}`));
}

async function fetched(language, coming) {
  const texts = await coming.catch(() => null);
  Object.assign(STRINGS[language], texts?.STRINGS);
  Object.assign(GLOSSARY[language], texts?.GLOSSARY);
  return texts !== null;
}
