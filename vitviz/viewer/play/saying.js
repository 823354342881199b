/** Saying: the texts of the playground in one language. */

import { withParticles } from "../text/particles.js";
import { TEXTS } from "./playtexts.js";

/** Looks a text up; one that the language lacks is in English. @typedef {(key: string, values?: Record<string, any>) => string} Say */

/** @param {string} language @returns {Say} */
export function sayingIn(language) {
  const texts = { ...TEXTS.en, ...TEXTS[language] };
  return (key, values = {}) => {
    if (!(key in texts)) throw new Error("no text named " + key);
    return withParticles(texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name])));
  };
}
