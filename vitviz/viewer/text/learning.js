/** Learning: the texts of a language come as a file of their own where the bundle has not brought them. */

import { languageOf } from "./language.js";
import { GLOSSARY, STRINGS } from "./strings.js";

/**
 * Makes the texts of a language known, once.
 * @param {any} tag  as in `<html lang>`
 * @param {null|import("../types.js").Texts} [fetchTexts]  null: all are here
 * @returns {Promise<boolean>}  false where they cannot be had; the host says why
 */
export async function learn(tag, fetchTexts = null) {
  const language = languageOf(tag);
  if (!fetchTexts || Object.keys(STRINGS[language]).length > 0) return true;
  const texts = await fetchTexts(language).catch(() => null);
  Object.assign(STRINGS[language], texts?.STRINGS);
  Object.assign(GLOSSARY[language], texts?.GLOSSARY);
  return texts !== null;
}
