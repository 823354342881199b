/** Told: what is said of a photo, in every language, with the sentences of Python. */

import { withParticles } from "./particles.js";
import { PHOTO } from "./phototexts.js";

/**
 * @param {import("../data/decoding.js").Told} told
 * @returns {Record<string, string>}  language -> sentence
 */
export const saidOf = (told) => Object.fromEntries(Object.keys(PHOTO).map((language) => [language, said(told, language)]));

/** @param {import("../data/decoding.js").Told} told @param {string} language @returns {string} */
function said({ key, values }, language) {
  const text = PHOTO[language][key] ?? PHOTO.en[key];
  return withParticles(text.replace(/\{(\w+)\}/g, (_, name) => (values[name]?.key ? said(values[name], language) : String(values[name]))));
}
