/**
 * Memory: taste, guesses, records and the own lesson are kept from visit to visit, where the browser grants
 * local storage.
 */

import { Recent } from "../data/recent.js";

const KEY = "vitviz-taste";
const GUESSES = "vitviz-guesses";
const LESSON = "vitviz-lesson";
const RECORDS = "vitviz-records";
/** At most this many guesses are remembered; the oldest are forgotten first. */
const MOST_GUESSES = 400;
/** Keys of few entries, which are not guesses: the self-check, and what a class has agreed on. */
const LASTING = /^(check|class)\/(?!guessed\/)/;
const MOST_RECORDS = 100;

/**
 * The remembered fields; {} where storage is refused, damaged or empty.
 * @param {() => Storage} open  may throw: a browser can refuse even to name its storage
 * @returns {any}
 */
export function recall(open) {
  return stored(open, KEY);
}

/**
 * Adds to what is remembered. Without storage the choice lasts as long as the page.
 * @param {() => Storage} open
 * @param {any} wanted
 */
export function remember(open, wanted) {
  store(open, KEY, { ...recall(open), ...wanted });
}

/**
 * The guesses of lessons, by their questions. Without storage they last as long as the page.
 * @param {() => Storage} open
 * @param {any} [brought]  guesses that came with the page; those of this device are newer
 * @returns
 *   {{recall: (key: string) => any, keep: (key: string, entry: any) => void, of: (lesson: string) => any}}
 */
export function guessBook(open, brought = {}) {
  const known = new Map(Object.entries({ ...brought, ...stored(open, GUESSES) }));
  return {
    /** All guesses of a lesson. */
    of: (lesson) => Object.fromEntries([...known].filter(([key]) => key.startsWith(lesson + "/"))),
    recall: (key) => known.get(key),
    /** An undefined entry is forgotten. */
    keep(key, entry) {
      put(known, key, entry);
      // Another tab may have kept some since this page was opened.
      const all = new Map(Object.entries(stored(open, GUESSES)));
      put(all, key, entry);
      store(open, GUESSES, Object.fromEntries(all));
    },
  };
}

/**
 * Puts a guess behind all others; an undefined one is taken out. The oldest guesses are forgotten.
 * @param {Map<string, any>} guesses
 */
function put(guesses, key, entry) {
  guesses.delete(key);
  if (entry !== undefined) guesses.set(key, entry);
  for (const oldest of guesses.keys()) {
    if (guesses.size <= MOST_GUESSES) break;
    if (!LASTING.test(oldest)) guesses.delete(oldest);
  }
}

/**
 * The lesson that is collected on this device. Without storage none is recalled.
 * @param {() => Storage} open
 * @returns {{recall: () => any, keep: (lesson: any) => void}}
 */
export function lessonBook(open) {
  return { recall: () => stored(open, LESSON), keep: (lesson) => store(open, LESSON, lesson) };
}

/**
 * The fewest patches with which an answer stayed, by picture and model. Without storage they last as long as
 * the page.
 * @param {() => Storage} open
 * @returns {{best: (key: string, left: number|null) => number|null}}  best: of `left` and what was known;
 *   null: nothing yet
 */
export function recordBook(open) {
  let known = fewest(recorded(open));
  return {
    best(key, left) {
      const before = known.get(key) ?? null;
      if (left === null || (before !== null && before <= left)) return before;
      // Another tab may have kept some since this page was opened.
      known = fewest([...recorded(open), ...known, [key, left]]);
      store(open, RECORDS, Object.fromEntries(known));
      return known.get(key) ?? left;
    },
  };
}

/** The records that are stored. @returns {[string, number][]} */
const recorded = (open) =>
  Object.entries(stored(open, RECORDS)).filter(([, left]) => Number.isInteger(left) && left > 0);

/**
 * The best of some records for each key.
 * @param {[string, number][]} records  the newest last
 * @returns {Recent<string, number>}
 */
function fewest(records) {
  const known = new Recent(MOST_RECORDS);
  for (const [key, left] of records) known.set(key, Math.min(left, known.get(key) ?? left));
  return known;
}

function stored(open, name) {
  try {
    const found = JSON.parse(open().getItem(name) ?? "{}");
    return found !== null && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

function store(open, name, value) {
  try {
    open().setItem(name, JSON.stringify(value));
  } catch {
    // Storage is refused or full: it is only not remembered.
  }
}
