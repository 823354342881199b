/** Messages about a photo or an experiment, in every language, with the sentences of Python. */

import { filled } from "./particles.js";
import { PHOTO } from "./phototexts.js";

/** Texts of a page without a host, by the text that they replace: it opens fewer formats. */
const ALONE = { allowed: "allowed_here" };

/**
 * @param {import("../data/decoding.js").Told} message
 * @param {boolean} [alone]  whether nobody but this page can open files
 * @returns {Record<string, string>}  language -> sentence
 */
export const saidOf = (message, alone = false) =>
  Object.fromEntries(Object.keys(PHOTO).map((language) => [language, sentence(message, language, alone)]));

/**
 * @param {import("../data/decoding.js").Told} told @param {string} language @param {boolean} alone
 * @returns {string}
 */
function sentence({ key: named, values }, language, alone) {
  const key = (alone && ALONE[named]) || named;
  const text = PHOTO[language][key] ?? PHOTO.en[key];
  return filled(text, values, (value) => valueOf(value, language, alone));
}

/** A value as text. It can be a message itself, a list, or JSON. */
function valueOf(value, language, alone) {
  if (value?.key) return sentence(value, language, alone);
  return Array.isArray(value)
    ? value.join(", ")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
}
