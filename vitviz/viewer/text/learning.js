/**
 * Learning: texts come as files of their own where the bundle has not brought them: a language, and its
 * lessons.
 */

import { languageOf } from "./language.js";
import { GLOSSARY, STRINGS } from "./strings.js";

/** @typedef {import("./language.js").Language} Language */

/**
 * Makes the texts of a language known, once; those of lessons are `learnLessons`'.
 * @param {any} tag  as in `<html lang>`
 * @param {null|import("../types.js").Texts} [fetchTexts]  null: all are here
 * @returns {Promise<boolean>}  false where they cannot be had; the host says why
 */
export async function learn(tag, fetchTexts = null) {
  const language = languageOf(tag);
  return !fetchTexts || Object.keys(STRINGS[language]).length > 0 || fetched(language, fetchTexts(language));
}

/** Whether the texts of lessons are here. @param {Language} language */
export const knowsLessons = (language) => "lesson.cut" in STRINGS[language];

/**
 * The same for the texts of lessons, which nobody needs who opens none.
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
