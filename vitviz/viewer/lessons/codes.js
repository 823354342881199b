/** Codes: a guess as a few letters that a pupil can read out, and back; no server and no names in between. */

import { markOf, Misfit } from "./own.js";
import { optionsOf, paintable } from "./steps.js";

/** Crockford's letters: none that looks like another. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ALIKE = { O: "0", I: "1", L: "1" };
/** Letters that say which question it is, and as many that show a slip of the pen. */
const SEAL = 2;
/** A number is one of so many steps between the ends of its line. */
const FINE = 32 ** 3;
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

function lettersFor(size) {
  let count = 1;
  while (32n ** BigInt(count) < size) count += 1;
  return count;
}

export const sealOf = (text) => written(parseInt(markOf(text), 36) % 32 ** SEAL, SEAL);

/** How many guesses are possible, how one becomes a whole number below that, and back. */
function numbering(question, source) {
  const { prefix, tokens } = source.grid;
  const patches = BigInt(tokens - prefix);
  if (question.kind === "patch") return { size: patches, number: (guess) => BigInt(guess - prefix), guess: (number) => Number(number) + prefix };
  if (question.kind === "patches") {
    const count = paintable(question, source);
    return {
      size: patches ** BigInt(count),
      number: (guess) => guess.reduce((sum, token) => sum * patches + BigInt(token - prefix), 0n),
      guess: (number) => Array.from({ length: count }, (_, at) => Number((number / patches ** BigInt(count - 1 - at)) % patches) + prefix),
    };
  }
  if (question.kind === "choose") {
    const options = optionsOf(question, source);
    return { size: BigInt(options.length), number: (guess) => BigInt(options.indexOf(guess)), guess: (number) => options[Number(number)] };
  }
  const { min, max } = question;
  const step = (max - min) / (FINE - 1);
  return {
    size: BigInt(FINE),
    number: (guess) => BigInt(Math.round((Math.min(max, Math.max(min, guess)) - min) / step)),
    guess: (number) => min + Number(number) * step,
  };
}

/** What a code belongs to: one question about one picture in one model. */
function nameOf({ course, source: { manifest, grid } }) {
  return [course.lesson().id, course.step().id, manifest.model.name, manifest.photo.name, grid.rows, grid.cols].join("/");
}

/** Whether guesses of the open question have codes: words have none. */
export function hasCodes({ course }) {
  return course.question() !== null && course.question().kind !== "write";
}

/**
 * The code of a guess for the open question, in groups of four letters.
 * @param {import("../main.js").App} app
 * @param {any} guess  a possible one
 * @returns {string}
 */
export function codeOf(app, guess) {
  const { size, number } = numbering(app.course.question(), app.source);
  return sealed(sealOf(nameOf(app)) + written(number(guess), lettersFor(size)));
}

/** Letters with those that show a slip, in groups of four. @param {string} told */
export const sealed = (told) => (told + sealOf(told)).replace(/(.{4})(?=.)/g, "$1-");

/** The letters that were sealed. Throws a `Misfit` for a slip, and for what is no code. @param {string} code  as it was typed */
export function unsealed(code) {
  const plain = code.toUpperCase().replace(/[-\u2010-\u2015\u2212]/g, "").replace(/[OIL]/g, (letter) => ALIKE[letter]);
  if (plain.length < 2 * SEAL + 1 || plain.length > LONGEST || [...plain].some((letter) => !LETTERS.includes(letter))) throw new Misfit("pollNoCode");
  const told = plain.slice(0, -SEAL);
  if (sealOf(told) !== plain.slice(-SEAL)) throw new Misfit("pollSlip");
  return told;
}

/**
 * The guess behind a code for the open question. Throws a `Misfit` for any other text.
 * @param {import("../main.js").App} app
 * @param {string} code  as it was typed
 * @returns {any}
 */
export function guessOf(app, code) {
  const told = unsealed(code);
  const { size, guess } = numbering(app.course.question(), app.source);
  const value = numberIn(told.slice(SEAL));
  if (told.slice(0, SEAL) !== sealOf(nameOf(app)) || told.length !== SEAL + lettersFor(size) || value >= size) throw new Misfit("pollOther");
  return guess(value);
}

/**
 * All guesses in a text with codes, and what cannot be read in it.
 * @param {import("../main.js").App} app
 * @param {string} text  typed or pasted: codes with anything but letters, digits and hyphens between them
 * @returns {{guesses: any[], wrong: {code: string, key: string}[], more: number}}  more: codes that were left out
 */
export const readCodes = (app, text) => readAll(text, (code) => guessOf(app, code));

/**
 * The same of other codes. @template T
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
      wrong.push({ code: code.slice(0, 20), key: error.key });
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

/** The guess in the middle of all. */
export function middleOf(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
