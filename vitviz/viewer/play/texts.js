/** Texts: looks up the texts of the playground in one language. */

import { filled } from "../text/particles.js";
import { TEXTS } from "./playtexts.js";

/**
 * Looks a text up; one that the language lacks is in English.
 * @typedef {(key: string, values?: Record<string, any>) => string} Say
 */

/**
 * @param {string} language
 * @param {"signs"|"own"} [subject]  whose texts differ: the key of one ends in "_signs" or "_own"
 * @returns {Say}
 */
export function textsIn(language, subject) {
  const texts = { ...TEXTS.en, ...TEXTS[language] };
  return (key, values = {}) => {
    if (!Object.hasOwn(texts, key)) throw new Error("no text named " + key);
    const special = key + "_" + subject;
    const text = texts[Object.hasOwn(texts, special) ? special : key];
    return filled(text, values);
  };
}
