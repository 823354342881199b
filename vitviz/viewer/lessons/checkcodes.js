/** Codes of the self-check: both rounds of one pupil in sixteen letters, and the picture of a class. */

import { FORMS, ITEMS, LEVELS, ROUNDS, isRight, isSureAndWrong, scoreOf } from "./check.js";
import { grouped, lettersIn, numberIn, readAll, written } from "./codes.js";
import { Misfit, markOf } from "./own.js";

/**
 * @typedef {import("./check.js").Mark} Mark
 * @typedef {{form: "a"|"b", before: Mark[], after: Mark[]}} Result  form: that of before
 */

/** Letters that say what a code is, and as many that show a slip of the pen. */
const SEAL = 2;
const sealOf = (text) => written(parseInt(markOf(text), 36) % 32 ** SEAL, SEAL);
const NAME = sealOf("check/1");
/** Answer right or not, reason right or not, and how sure. */
const STATES = 4 * LEVELS.length;
const SIZE = BigInt(FORMS.length) * BigInt(STATES) ** BigInt(ROUNDS.length * ITEMS.length);
const LETTERS = Math.ceil(SIZE.toString(2).length / 5);

/** @param {Result} result */
export function checkCode({ form, before, after }) {
  const number = [...before, ...after].reduce(
    (sum, { answer, reason, sure }) =>
      sum * BigInt(STATES) + BigInt((2 * Number(answer) + Number(reason)) * LEVELS.length + sure),
    BigInt(FORMS.indexOf(form)),
  );
  const letters = NAME + written(number, LETTERS);
  return grouped(letters + sealOf(letters));
}

/** The result in a code. Throws a `Misfit`. @param {string} code @returns {Result} */
export function resultOf(code) {
  const letters = lettersIn(code);
  const body = letters.slice(0, -SEAL);
  if (letters.length <= 2 * SEAL) throw new Misfit("pollNoCode");
  if (sealOf(body) !== letters.slice(-SEAL)) throw new Misfit("pollSlip");
  let number =
    body.length === NAME.length + LETTERS && body.startsWith(NAME) ? numberIn(body.slice(NAME.length)) : SIZE;
  if (number >= SIZE) throw new Misfit("pollOther");
  const marks = Array.from({ length: ROUNDS.length * ITEMS.length }, () => {
    const [right, sure] = [
      Math.floor(Number(number % BigInt(STATES)) / LEVELS.length),
      Number(number % BigInt(LEVELS.length)),
    ];
    number /= BigInt(STATES);
    return { answer: right > 1, reason: right % 2 === 1, sure };
  }).reverse();
  return {
    form: FORMS[Number(number)],
    before: marks.slice(0, ITEMS.length),
    after: marks.slice(ITEMS.length),
  };
}

/**
 * All results in a text with codes, each with its code, and what cannot be read in it.
 * @param {string} text
 */
export const readResults = (text) =>
  readAll(text, (code) => ({ ...resultOf(code), code: checkCode(resultOf(code)) }));

/**
 * How many were right, and how many sure and wrong, question by question.
 * @param {Result[]} results
 */
export function classOf(results) {
  const times = (round, at, fits) => results.filter((result) => fits(result[round][at])).length;
  const both = (at, fits) => ({ before: times("before", at, fits), after: times("after", at, fits) });
  return ITEMS.map((_item, at) => ({ right: both(at, isRight), sureWrong: both(at, isSureAndWrong) }));
}

/**
 * One row for each code, for a study: see the README of the viewer.
 * @param {(Result & {code: string})[]} results
 * @returns {import("../maths/csv.js").Table}
 */
export function tableOf(results) {
  const of = (read) => ROUNDS.flatMap((round) => read(round));
  return {
    columns: [
      "code",
      "form_before",
      ...of((round) => [
        ...ITEMS.flatMap(({ id }) => ["answer", "reason", "sure"].map((part) => [round, id, part].join("_"))),
        round + "_right",
        round + "_sure_wrong",
      ]),
    ],
    rows: results.map((result) => [
      result.code,
      result.form.toUpperCase(),
      ...of((round) => [
        ...result[round].flatMap(({ answer, reason, sure }) => [Number(answer), Number(reason), sure]),
        scoreOf(result[round]).right,
        scoreOf(result[round]).sureWrong,
      ]),
    ]),
  };
}
