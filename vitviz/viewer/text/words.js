/** Names of tokens and sentences about values, in the language of the page. */

import { prefixKind } from "../maths/attention.js";
import { placeOf } from "../maths/geometry.js";
import { digits, multiple } from "../maths/numbers.js";
import { languageOf } from "./language.js";
import { STRINGS } from "./strings.js";

/**
 * The look-up for a language; unknown languages, and what a language lacks, read English.
 * @param {string} language
 * @returns {(key: string, values?: Record<string, *>) => string}
 */
export function translator(language) {
  const texts = { ...STRINGS.en, ...STRINGS[languageOf(language)] };
  return (key, values = {}) => {
    if (!(key in texts)) throw new Error("no text named " + key);
    return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  };
}

/**
 * "CLS", "REG 2": a prefix token in the space of a tile.
 * @param {string} name
 * @returns {string}
 */
export function prefixLabel(name) {
  const number = name.split(" ")[1];
  const kind = prefixKind(name).toUpperCase();
  return number ? kind + " " + number : kind;
}

/**
 * "row 4, col 7" or "CLS".
 * @returns {string}
 */
export function tokenName(token, { t, source: { manifest, grid } }) {
  const place = placeOf(token, grid);
  return place ? t("patchShort", place) : prefixLabel(manifest.prefix_tokens[token]);
}

/**
 * "Patch in row 4, column 7" or "CLS token", with the number in the sequence.
 * @returns {string}
 */
export function tokenTitle(token, { t, source: { manifest, grid } }) {
  const place = placeOf(token, grid);
  if (place) return t("patchTitle", place);
  return t("prefixTitle", { name: prefixLabel(manifest.prefix_tokens[token]) });
}

/**
 * Words that came with the analysis, in Korean where the page is and its host knew how to say them.
 * @param {string} text
 * @param {{language: string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {string}
 */
export function translated(text, { language, source: { manifest } }) {
  const known = languageOf(language) === "ko" && Object.hasOwn(manifest.korean ?? {}, text);
  return known ? manifest.korean[text] : text;
}

/**
 * A step of the ledger in the visitor's language; a name that is not known stays as it came.
 * @param {string} name  from the manifest, in English
 * @returns {string}
 */
export function stepName(name, t) {
  const key = "step_" + name.replace(/[^A-Za-z0-9]+/g, "_");
  return key in STRINGS.en ? t(key) : name;
}

/**
 * A group of classes in the visitor's language; one that is not known stays as it came.
 * @param {string} name  from the checkpoint, in English: "dog"
 * @returns {string}
 */
export function groupName(name, t) {
  const key = "group_" + name.replace(/[^A-Za-z0-9]+/g, "_");
  return key in STRINGS.en ? t(key) : name;
}

/**
 * "0.0213 = 4.2 x uniform"
 * @param {number} value
 * @param {number} tokens
 * @returns {string}
 */
export function valueText(value, tokens, t) {
  return t("valueTimes", { value: digits(value), times: multiple(value * tokens) });
}
