/** What a host refused or could not do, told in the language that the page has when it is read. */

import { languageOf } from "./language.js";
import { STRINGS } from "./strings.js";
import { translator } from "./words.js";

/** A failure whose reason is known in every language of the viewer; as an error it speaks English. */
export class Refusal extends Error {
  /** @param {Record<import("./language.js").Language, string>} reasons */
  constructor(reasons) {
    super(reasons.en);
    this.reasons = reasons;
  }
}

/**
 * A host's reply, if it is one. A refusal brings its sentence in English, and in those languages that it can.
 * @template Reply
 * @param {Reply & {error?: string, errors?: Record<import("./language.js").Language, string>}} reply
 * @returns {Reply}
 */
export function granted(reply) {
  // A host gives nothing at all when its server is away.
  if (reply === undefined) throw new Refusal(Object.fromEntries(Object.keys(STRINGS).map((each) => [each, translator(each)("noReply")])));
  if (reply?.error) throw new Refusal({ ...reply.errors, en: reply.error });
  return reply;
}

/**
 * Why something failed, in the language of the page where that is known.
 * @param {Error} error
 * @param {string} language
 * @returns {string}
 */
export function reasonOf(error, language) {
  return (error instanceof Refusal && error.reasons[languageOf(language)]) || error.message;
}
