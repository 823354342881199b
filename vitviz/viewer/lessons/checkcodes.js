/** Codes of the self-check: both rounds of one pupil in a few letters, and the picture of a class. */

import { FORMS, ITEMS, LEVELS, ROUNDS, SEEDS, isRight, isSureAndWrong, markOf, scoreOf } from "./check.js";
import { grouped, lettersIn, numberIn, readAll, written } from "./codes.js";
import { Misfit, markOf as hashOf } from "./own.js";

/**
 * @typedef {import("./check.js").Choice} Choice
 * @typedef {{form: "a"|"b", seed: number, before: Choice[], after: Choice[]}} Result  form: that of before;
 *   seed: of the order of the options
 */

/** Letters that say what a code is, and as many that show a slip of the pen. */
const SEAL = 2;
const sealOf = (text) => written(parseInt(hashOf(text), 36) % 32 ** SEAL, SEAL);
const NAME = sealOf("check/2");
/** Codes of the first version: they had other questions, and only what was right. */
const OLD = { name: sealOf("check/1"), letters: 12 };

/** The questions of both rounds, in their order. @param {"a"|"b"} form  of the first round */
const asked = (form) =>
  ROUNDS.flatMap((round) => ITEMS.map((item) => item[(round === "before") === (form === "a") ? "a" : "b"]));

/**
 * The digits of a choice in a code: each part with its possible values. The right option is a part too,
 * because it can depend on the model.
 * @param {import("./check.js").Form} form
 * @returns {[keyof Choice, any[]][]}
 */
function digitsOf({ options, reasons, key }) {
  const names = Object.keys(options);
  return [
    ["answer", names],
    ["reason", reasons],
    ["sure", [...LEVELS.keys()]],
    ["key", typeof key === "string" ? [key] : names],
  ];
}

const SIZE = asked("a")
  .flatMap(digitsOf)
  .reduce((product, [, names]) => product * BigInt(names.length), BigInt(FORMS.length * SEEDS));
const LETTERS = Math.ceil(SIZE.toString(2).length / 5);

/** Letters of a code, without hyphens. */
export const CODE_LETTERS = 2 * SEAL + LETTERS;

/** @param {Result} result */
export function checkCode({ form, seed, before, after }) {
  let number = 0n;
  const choices = [...before, ...after];
  asked(form).forEach((question, at) => {
    for (const [part, names] of digitsOf(question))
      number = number * BigInt(names.length) + BigInt(names.indexOf(choices[at][part]));
  });
  number = (number * BigInt(SEEDS) + BigInt(seed)) * BigInt(FORMS.length) + BigInt(FORMS.indexOf(form));
  const letters = NAME + written(number, LETTERS);
  return grouped(letters + sealOf(letters));
}

/** The result in a code. Throws a `Misfit`. @param {string} code @returns {Result} */
export function resultOf(code) {
  const letters = lettersIn(code);
  const body = letters.slice(0, -SEAL);
  if (letters.length <= 2 * SEAL) throw new Misfit("pollNoCode");
  if (sealOf(body) !== letters.slice(-SEAL)) throw new Misfit("pollSlip");
  const is = (name, count) => body.length === name.length + count && body.startsWith(name);
  if (is(OLD.name, OLD.letters)) throw new Misfit("check.oldCode");
  let number = is(NAME, LETTERS) ? numberIn(body.slice(NAME.length)) : SIZE;
  if (number >= SIZE) throw new Misfit("pollOther");
  const taken = (names) => {
    const name = names[Number(number % BigInt(names.length))];
    number /= BigInt(names.length);
    return name;
  };
  const form = taken(FORMS);
  const seed = taken([...Array(SEEDS).keys()]);
  const choices = asked(form)
    .reverse()
    .map((question) =>
      Object.fromEntries(
        digitsOf(question)
          .reverse()
          .map(([part, names]) => [part, taken(names)]),
      ),
    )
    .reverse();
  const [before, after] = [choices.slice(0, ITEMS.length), choices.slice(ITEMS.length)];
  return { form, seed, before: /** @type {any} */ (before), after: /** @type {any} */ (after) };
}

/** The name under which a class keeps its codes: longer than that of any question of a lesson. */
export const HANDED = "selfchk2";
/** Letters in a number of a code that is sent. */
const PACK = 4;

/** A code as the server of a class takes a guess: whole numbers. @param {string} code */
export const numbersOf = (code) =>
  lettersIn(code)
    .match(new RegExp(`.{1,${PACK}}`, "g"))
    .map((letters) => Number(numberIn(letters)));

/** The code that came from there, which can be anything. @param {any} numbers */
export function codeFrom(numbers) {
  const letters = [numbers]
    .flat()
    .map((number, at) =>
      written(Math.floor(Math.abs(number)), Math.max(1, Math.min(PACK, CODE_LETTERS - PACK * at))),
    );
  return grouped(letters.join(""));
}

/** Marks the choices of a round. @param {Choice[]} choices */
export const marksOf = (choices) => choices.map((choice, at) => markOf(ITEMS[at], choice));

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
  const times = (round, at, fits) =>
    results.filter((result) => fits(markOf(ITEMS[at], result[round][at]))).length;
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
  const parts = ["answer", "reason", "sure", "answer_right", "reason_right"];
  return {
    columns: [
      "code",
      "form_before",
      "order_seed",
      ...of((round) => [
        ...ITEMS.flatMap(({ id }) => parts.map((part) => [round, id, part].join("_"))),
        round + "_right",
        round + "_sure_wrong",
      ]),
    ],
    rows: results.map((result) => [
      result.code,
      result.form.toUpperCase(),
      result.seed,
      ...of((round) => {
        const marks = marksOf(result[round]);
        const { right, sureWrong } = scoreOf(marks);
        return [
          ...result[round].flatMap(({ answer, reason, sure }, at) => [
            answer,
            reason,
            sure,
            Number(marks[at].answer),
            Number(marks[at].reason),
          ]),
          right,
          sureWrong,
        ];
      }),
    ]),
  };
}
