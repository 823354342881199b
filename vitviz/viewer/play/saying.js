/** Saying: the texts of the playground in one language. */

import { withParticles } from "../text/particles.js";
import { TEXTS } from "./playtexts.js";

/**
 * Looks a text up; one that the language lacks is in English.
 * @typedef {(key: string, values?: Record<string, any>) => string} Say
 */

/** Suffix of the keys of texts that differ where the pictures are a visitor's own. */
const OWN = "_signs";

/** @param {string} language @param {boolean} [signs]  the pictures are drawn by a visitor @returns {Say} */
export function sayingIn(language, signs = false) {
  const texts = { ...TEXTS.en, ...TEXTS[language] };
  return (key, values = {}) => {
    if (!Object.hasOwn(texts, key)) throw new Error("no text named " + key);
    const text = texts[signs && Object.hasOwn(texts, key + OWN) ? key + OWN : key];
    return withParticles(text.replace(/\{(\w+)\}/g, (_, name) => String(values[name])));
  };
}
