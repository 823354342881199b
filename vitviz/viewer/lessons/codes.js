/** Codes: a guess as a few letters that a pupil can read out, and back; no server and no names in between. */

import { quantile } from "../maths/quantile.js";
import { markOf, Misfit } from "./own.js";
import { gapOf, isGuess, optionsOf, paintable, rangeOf, subjectOf } from "./steps.js";

/** Crockford's letters: none that looks like another. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ALIKE = { O: "0", I: "1", L: "1" };
/** Choices have a letter each, A first, while these are enough. */
const FIRST = LETTERS.indexOf("A");
/**
 * Letters of a number on its line: more where it is worked out, because it has to be nearly exact, and one
 * more where guesses beyond the line are possible.
 */
const NUMBER_LETTERS = { guessed: 2, worked: 3, beyond: 1 };
/** Codes that are read at once, and letters of a code. */
export const MOST_CODES = 200;
const LONGEST = 60;

/** A whole number in so many letters. */
export function written(value, count) {
  let [text, rest] = ["", BigInt(value)];
  for (let i = 0; i < count; i++) {
    text = LETTERS[Number(rest % 32n)] + text;
    rest /= 32n;
  }
  return text;
}

export function numberIn(text) {
  return [...text].reduce((sum, letter) => sum * 32n + BigInt(LETTERS.indexOf(letter)), 0n);
}

/** The letters of a code as it was typed. Throws a `Misfit` for what is none. @param {string} code */
export function lettersIn(code) {
  const plain = code
    .toUpperCase()
    .replace(/[-\u2010-\u2015\u2212]/g, "")
    .replace(/[OIL]/g, (letter) => ALIKE[letter]);
  if (plain === "" || plain.length > LONGEST || [...plain].some((letter) => !LETTERS.includes(letter)))
    throw new Misfit("pollNoCode");
  return plain;
}

/** In groups of four letters. @param {string} letters */
export const grouped = (letters) => letters.replace(/(.{4})(?=.)/g, "$1-");

function lettersFor(size) {
  let count = 1;
  while (32n ** BigInt(count) < size) count += 1;
  return count;
}

/**
 * The last letter of a code: it depends on the question, and every single letter that is another one changes
 * it, for its weight is odd.
 * @param {string} name  of the question
 * @param {string} text  the letters before
 */
function checkOf(name, text) {
  const sum = [...text].reduce(
    (total, letter, at) => total + (2 * at + 1) * LETTERS.indexOf(letter),
    parseInt(markOf(name), 36) >>> 16,
  );
  return LETTERS[sum % 32];
}

/** size: number of guesses; number: from a guess to a whole number below `size`; guess: the inverse. */
function numbering(question, source) {
  const { prefix, tokens } = source.grid;
  const patches = BigInt(tokens - prefix);
  if (question.kind === "patch")
    return {
      size: patches,
      number: (guess) => BigInt(guess - prefix),
      guess: (number) => Number(number) + prefix,
    };
  if (question.kind === "patches") {
    const count = paintable(question, source);
    return {
      size: patches ** BigInt(count),
      number: (guess) => guess.reduce((sum, token) => sum * patches + BigInt(token - prefix), 0n),
      guess: (number) =>
        Array.from(
          { length: count },
          (_, at) => Number((number / patches ** BigInt(count - 1 - at)) % patches) + prefix,
        ),
    };
  }
  if (question.kind === "choose") {
    const options = optionsOf(question, source);
    const first = options.length <= LETTERS.length - FIRST ? FIRST : 0;
    return {
      size: BigInt(first + options.length),
      number: (guess) => BigInt(first + options.indexOf(guess)),
      guess: (number) => options[Number(number) - first],
    };
  }
  const { low, high } = rangeOf(question);
  const { guessed, worked, beyond } = NUMBER_LETTERS;
  const isWider = low < question.min || high > question.max;
  const steps = 32 ** ((question.worked ? worked : guessed) + (isWider ? beyond : 0));
  const step = (high - low) / (steps - 1);
  return {
    size: BigInt(steps),
    number: (guess) => BigInt(Math.round((guess - low) / step)),
    guess: (number) => low + Number(number) * step,
  };
}

/** Identity of a code: one question about one picture in one model. */
function nameOf({ course, source: { manifest, grid } }) {
  return [
    course.lesson().id,
    course.step().id,
    ...subjectOf(manifest),
    manifest.photo.name,
    grid.rows,
    grid.cols,
  ].join("/");
}

/** Whether guesses of the open question have codes: words have none. */
export function hasCodes({ course }) {
  return course.question() !== null && course.question().kind !== "write";
}

/** A short name for the open question, which tells nothing of the picture. */
export const questionOf = (app) => markOf(nameOf(app));

/** How many letters a code for the open question has. */
export function lengthOf({ course, source }) {
  return lettersFor(numbering(course.question(), source).size) + 1;
}

/**
 * The code of a guess for the open question, in groups of four letters.
 * @param {import("../main.js").App} app
 * @param {any} guess  a possible one
 * @returns {string}
 */
export function codeOf(app, guess) {
  const { size, number } = numbering(app.course.question(), app.source);
  const letters = written(number(guess), lettersFor(size));
  return grouped(letters + checkOf(nameOf(app), letters));
}

/**
 * The guess behind a code for the open question; the letter of a choice will do without its check. Throws a
 * `Misfit` for any other text.
 * @param {import("../main.js").App} app
 * @param {string} code  as it was typed
 * @returns {any}
 */
export function guessOf(app, code) {
  const plain = lettersIn(code);
  const { size, guess } = numbering(app.course.question(), app.source);
  const count = lettersFor(size);
  const letters = plain.slice(0, count);
  const alone = app.course.question().kind === "choose" && count === 1 && plain.length === 1;
  if (!alone && plain !== letters + checkOf(nameOf(app), letters)) throw new Misfit("pollOther");
  const found = numberIn(letters) < size ? guess(numberIn(letters)) : undefined;
  if (found === undefined) throw new Misfit("pollOther");
  return found;
}

/** A guess as the server of a class takes it: the index of an option, a number, or the indices of patches. */
export function plainOf({ course, source }, guess) {
  const { kind } = course.question();
  if (kind === "number") return guess;
  if (kind === "choose") return optionsOf(course.question(), source).indexOf(guess);
  return kind === "patch" ? guess - source.grid.prefix : guess.map((token) => token - source.grid.prefix);
}

/** The guess that came from there, which can be anything; undefined for what is none. */
export function guessFrom({ course, source }, plain) {
  const { prefix } = source.grid;
  const question = course.question();
  const isList = Array.isArray(plain);
  if (isList !== (question.kind === "patches") || ![plain].flat().every(Number.isFinite)) return undefined;
  const tokens = isList ? plain.map((patch) => patch + prefix) : plain + prefix;
  const guess =
    question.kind === "number"
      ? plain
      : question.kind === "choose"
        ? optionsOf(question, source)[plain]
        : tokens;
  return isGuess(question, guess, source) ? guess : undefined;
}

/**
 * All guesses in a text with codes, and what cannot be read in it.
 * @param {import("../main.js").App} app
 * @param {string} text  typed or pasted: codes with anything but letters, digits and hyphens between them
 * @returns {{guesses: any[], wrong: {code: string, key: string}[], more: number}}  more: codes that were left
 *   out
 */
export const readCodes = (app, text) => readAll(text, (code) => guessOf(app, code));

/**
 * Reads other kinds of codes in the same way. @template T
 * @param {string} text
 * @param {(code: string) => T} read  throws a `Misfit` for what it cannot read
 * @returns {{guesses: T[], wrong: {code: string, key: string}[], more: number}}
 */
export function readAll(text, read) {
  const codes = text.split(/[\s,;]+/).filter(Boolean);
  const [guesses, wrong] = [[], []];
  for (const code of codes.slice(0, MOST_CODES)) {
    try {
      guesses.push(read(code));
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      wrong.push({ code: code.slice(0, 30), key: error.key });
    }
  }
  return { guesses, wrong, more: Math.max(0, codes.length - MOST_CODES) };
}

/**
 * How many guessed each patch, in the order of the patches.
 * @param {any[]} guesses  tokens, or lists of them
 * @param {import("../maths/geometry.js").Grid} grid
 */
export function countsOf(guesses, grid) {
  const counts = new Array(grid.tokens - grid.prefix).fill(0);
  for (const token of guesses.flat()) counts[token - grid.prefix] += 1;
  return counts;
}

/**
 * How many guesses are right; of painted patches, how many of them on average.
 * @param {import("../main.js").App} app
 * @param {any[]} guesses  at least one
 * @param {any} truth
 */
export function rightOf({ course, source }, guesses, truth) {
  const gaps = guesses.map((guess) => gapOf(course.question(), guess, truth, source.grid));
  if (course.question().kind === "patches")
    return gaps.reduce((sum, { common }) => sum + common, 0) / gaps.length;
  return gaps.filter(({ same, verdict, common }) => same || verdict === "right" || common === 1).length;
}

/** The guess in the middle of all. */
export const middleOf = (numbers) => quantile(numbers, 0.5);
