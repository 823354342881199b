/** Refusals and failures of a host, with their reasons in the present language of the page. */

import { isUnanswered } from "../data/files.js";
import { languageOf } from "./language.js";
import { STRINGS } from "./strings.js";
import { translator } from "./words.js";

/** A failure with its reason in several languages; its `message` is in English, where the page has it. */
class Refusal extends Error {
  /**
   * @param {Record<import("./language.js").Language, string>} reasons
   * @param {{busy?: boolean, expired?: boolean, key?: string}} why  busy: asking again later helps; expired:
   *   what is asked about has to be made again; key: of the text of this page that says the reason
   */
  constructor(reasons, { busy, expired, key = "" } = {}) {
    super(reasons.en ?? Object.values(reasons)[0]);
    this.reasons = reasons;
    this.key = key;
    this.busy = busy === true;
    this.expired = expired === true;
  }
}

/** The refusal in a host's reply. @param {any} reply */
export const refusalOf = (reply) => new Refusal({ ...reply.errors, en: reply.error }, reply);

/** The text that refuses what needs a host for a model that no host has: it has learned in this page. */
export const LEARNED_HERE = "learnedHere";

/** Whether a host can have a model. @param {import("../types.js").Model} model */
export const isOnHost = ({ saved_as: file }) => file === undefined;

/** A refusal of this page, with one of its texts. @param {string} key */
export const refusal = (key) =>
  new Refusal(
    /** @type {Record<import("./language.js").Language, string>} */ (
      Object.fromEntries(
        Object.keys(STRINGS)
          .filter((language) => Object.hasOwn(STRINGS[language], key)) // the page has the texts of others only later
          .map((language) => [language, translator(language)(key)]),
      )
    ),
    { key },
  );

/**
 * A host's reply; throws a `Refusal` if it has an `error`, in English, with `errors` by language.
 * @template Reply
 * @param {Reply
 *   & {error?: string, errors?: Record<import("./language.js").Language, string>, busy?: boolean,
 *   expired?: boolean}}
 *   reply
 * @returns {Reply}
 */
export function granted(reply) {
  // The reply is null or undefined when the host's server cannot be reached.
  if (reply === undefined) throw refusal("noReply");
  if (reply?.error) throw refusalOf(reply);
  return reply;
}

/**
 * The reason of a failure, in the language of the page if it is known in it.
 * @param {Error & {said?: Record<string, string>, modelLost?: boolean}} error  said: a sentence by language;
 *   modelLost: the weights of a model did not come
 * @param {string} language
 * @returns {string}
 */
export function reasonOf(error, language) {
  const { cause, said } = error;
  if (said) return said[languageOf(language)] || said.en;
  if (!(error instanceof Refusal)) {
    if (error.modelLost) return translator(language)("error_network");
    if (cause instanceof Refusal) return reasonOf(cause, language); // of a file that the host makes
    return isUnanswered(error) ? translator(language)("noReply") : error.message;
  }
  return error.key ? translator(language)(error.key) : error.reasons[languageOf(language)] || error.message;
}
