/** Messages about a photo or an experiment, in every language, with the sentences of Python. */

import { withParticles } from "./particles.js";
import { PHOTO } from "./phototexts.js";

/**
 * @param {import("../data/decoding.js").Told} message
 * @returns {Record<string, string>}  language -> sentence
 */
export const saidOf = (message) =>
  Object.fromEntries(Object.keys(PHOTO).map((language) => [language, sentence(message, language)]));

/** @param {import("../data/decoding.js").Told} told @param {string} language @returns {string} */
function sentence({ key, values }, language) {
  const text = PHOTO[language][key] ?? PHOTO.en[key];
  return withParticles(text.replace(/\{(\w+)\}/g, (_, name) => valueOf(values[name], language)));
}

/** A value as text. It can be a message itself, a list, or JSON. */
function valueOf(value, language) {
  if (value?.key) return sentence(value, language);
  return Array.isArray(value)
    ? value.join(", ")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
}
