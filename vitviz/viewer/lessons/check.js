/**
 * The self-check: eight questions with a reason each, before and after the lessons, in two parallel forms.
 * Where a question is about numbers, the right answer is read from the model on the screen. Does not use the
 * document.
 */

import { strongest } from "../maths/attention.js";
import { grouped, percent } from "../maths/numbers.js";
import { atOf, stateOf } from "./steps.js";
import { truthOf } from "./truths.js";

export const ROUNDS = /** @type {const} */ (["before", "after"]);
export const FORMS = /** @type {const} */ (["a", "b"]);
/** How sure one is of an answer: the last one counts as sure. */
export const LEVELS = /** @type {const} */ (["guess", "rather", "sure"]);
/** Key of the self-check in the storage for guesses. */
const KEPT = "check/kept";

/**
 * The analysis on the screen, as a form of a question looks at it.
 * @typedef {{at: import("./truths.js").At, value: (truth: string, more?: any) => any,
 *   row: () => Float32Array, prefix: number, pool: string}} Look
 *   row: what the asked token takes from each patch
 * @typedef {{options: Record<string, null|((look: Look) => string)>, key: string|((look: Look) => string),
 *   state?: any,
 *   marks?: (look: Look) => number[], values?: (look: Look) => Record<string, string|number>}} Form
 *   options: a number as it is written, or null for words alone; key: the right option, or what has to be
 *   written in it, where an option in words is right if no number is
 * @typedef {{id: string, kind: "taught"|"transfer"|"control", lesson: string|null, reasons: string[],
 *   reason: string|Record<string, string>, a: Form, b: Form}} Item
 *   lesson: the one that teaches it; reason: the right one, or that for each right option
 * @typedef {typeof ROUNDS[number]} Round
 * @typedef {{answer?: string, reason?: string, sure?: number, right?: boolean[]}} Entry  right: whether the
 *   answer is, and the reason
 * @typedef {{answer: boolean, reason: boolean, sure: number}} Mark
 */

const count =
  (truth, times = 1) =>
  (/** @type {Look} */ { value }) =>
    grouped(times * value(truth));
const PATCH = /** @type {[number, number]} */ ([0.37, 0.45]);
const LAST = { layer: "last", head: "mean" };

/**
 * A form of the question how much A takes from B. B asks in return with a query of its own.
 * @param {any} state @returns {Form}
 */
function pairOf(state) {
  const share = ({ value }) => percent(value("pairShare"));
  return {
    state: { ...state, partner: "strongest" },
    marks: ({ at }) => [at.token, at.partner],
    options: { share, rest: ({ value }) => percent(1 - value("pairShare")), anew: null },
    key: ({ at, value }) => percent(value("pairShare", { token: at.partner, partner: at.token })),
    values: (look) => ({ share: share(look), layer: look.at.layer, head: String(look.at.head) }),
  };
}

/**
 * A form of the question how much an answer loses without the patch that is brightest, or darkest, in a map.
 * @param {1|-1} sign
 * @returns {Form}
 */
function hiddenOf(sign) {
  const patch = ({ row }) =>
    strongest(
      row().map((value) => sign * value),
      1,
    )[0];
  const share = (look) => percent(look.row()[patch(look)]);
  return {
    state: { ...LAST, token: 0 },
    marks: (look) => [look.prefix + patch(look)],
    values: (look) => ({ share: share(look) }),
    options: sign > 0 ? { all: null, open: null, share } : { open: null, share, nothing: null },
    key: "open", // a map shows shares of attention; the loss of an answer is another measurement
  };
}

/** The answer is read from CLS, or gathered from all tokens. @type {Pick<Form, "key"|"state">} */
const READ = {
  state: { ...LAST, token: PATCH },
  key: ({ pool }) => (pool === "token" ? "stays" : "changes"),
};

/** @type {Item[]} */
export const ITEMS = [
  {
    id: "pixels",
    kind: "taught",
    lesson: "cut",
    reasons: ["full", "small", "colour"],
    reason: "small",
    a: {
      options: { small: count("patchNumbers"), colour: () => "1", full: null },
      key: count("patchNumbers"),
    },
    b: {
      options: { more: null, either: count("pixelNumbers"), each: count("patchCount") },
      key: count("pixelNumbers"),
    },
  },
  {
    id: "pair",
    kind: "taught",
    lesson: "ask",
    reasons: ["alike", "taken", "own"],
    reason: "own",
    a: pairOf({ layer: 1, head: 0, token: PATCH }),
    b: pairOf({ layer: 2, head: 1, token: [0.62, 0.62] }),
  },
  {
    id: "parts",
    kind: "transfer",
    lesson: "cut",
    reasons: ["grid", "things", "need"],
    reason: "grid",
    a: {
      options: { three: () => "3", same: count("patchCount"), triple: count("patchCount", 3) },
      key: count("patchCount"),
    },
    b: { options: { same: count("patchCount"), one: () => "1", none: () => "0" }, key: count("patchCount") },
  },
  {
    id: "percent",
    kind: "taught",
    lesson: "unknown",
    reasons: ["right", "taught", "shared"],
    reason: "shared",
    a: { options: { low: null, even: null, any: null }, key: "any" },
    b: { options: { none: null, whole: null, less: null }, key: "whole" },
  },
  // A model without CLS has none that could be the name of a class: the question is about those that have
  // one.
  {
    id: "cls",
    kind: "taught",
    lesson: "notes",
    reasons: ["learned", "answer", "pixels"],
    reason: "learned",
    a: { options: { learned: null, name: null, photo: null }, key: "learned" },
    b: { options: { none: null, middle: null, cls: null }, key: "cls" },
  },
  {
    id: "late",
    kind: "taught",
    lesson: "matter",
    reasons: ["map", "read", "gathered"],
    reason: { stays: "read", changes: "gathered" },
    a: { ...READ, marks: ({ at }) => [at.token], options: { changes: null, stays: null, fails: null } },
    b: { ...READ, options: { stays: null, fails: null, changes: null } },
  },
  {
    id: "bright",
    kind: "transfer",
    lesson: "hide",
    reasons: ["sum", "others", "weight"],
    reason: "others",
    a: hiddenOf(1),
    b: hiddenOf(-1),
  },
  // Fact: weights are read by a pass and written by a training alone; tests/test_check.py compares them
  // before and after.
  {
    id: "photo",
    kind: "control",
    lesson: null,
    reasons: ["step", "memory", "weights"],
    reason: "weights",
    a: { options: { better: null, told: null, no: null }, key: "no" },
    b: { options: { improved: null, same: null, chance: null }, key: "same" },
  },
];

/** @param {import("../main.js").App} app @param {Form} form @returns {Look} */
export function lookOf(app, { state = {} }) {
  const { source } = app;
  const at = atOf({ id: "", state }, source, app.shape());
  const value = (truth, more = {}) => truthOf(truth, source, { ...at, ...more }, null);
  return {
    at,
    value,
    row: () => value("attentionMap"),
    prefix: source.grid.prefix,
    pool: source.manifest.model.pool,
  };
}

/** The layers whose attention is asked about. @param {import("../main.js").App} app */
export function layersOf(app) {
  const states = ITEMS.flatMap((item) => FORMS.map((form) => item[form].state)).filter(Boolean);
  return [...new Set(states.map((state) => stateOf({ id: "", state }, app.source, app.shape()).layer))];
}

/** The right option, when the layers are here. @param {Form} form @param {Look} look @returns {string} */
export function keyOf({ key, options }, look) {
  if (typeof key === "string") return key;
  const found = key(look);
  if (Object.hasOwn(options, found)) return found;
  const names = Object.keys(options);
  return (
    names.find((name) => options[name]?.(look) === found) ?? names.find((name) => options[name] === null)
  );
}

/** The reason of a right option. @param {Item} item @param {string} key */
export const reasonOf = ({ reason }, key) => (typeof reason === "string" ? reason : reason[key]);

/** Answer and reason have to be right. @param {Mark} mark */
export const isRight = ({ answer, reason }) => answer && reason;

/** @param {Mark} mark */
export const isSureAndWrong = (mark) => mark.sure === LEVELS.length - 1 && !isRight(mark);

/**
 * The score over all questions, and on the control question, which no lesson teaches.
 * @param {Mark[]} marks
 */
export const scoreOf = (marks) => ({
  right: marks.filter(isRight).length,
  sureWrong: marks.filter(isSureAndWrong).length,
  control: marks.filter((mark, at) => ITEMS[at].kind === "control" && isRight(mark)).length,
});

/** @typedef {ReturnType<typeof createCheck>} Check */

/**
 * The answers of a self-check, stored on the device.
 * @param {{recall: (key: string) => any, keep: (key: string, entry: any) => void}} book
 * @param {() => number} [lot]  draws the form of the first round
 */
export function createCheck(book, lot = Math.random) {
  const empty = () => ITEMS.map(() => /** @type {Entry} */ ({}));
  const drawn = () => ({ form: FORMS[lot() < 0.5 ? 0 : 1], before: empty(), after: empty() });
  let fresh = drawn();
  const form = (/** @type {Round} */ round) =>
    round === "before" ? kept().form : FORMS.find((other) => other !== kept().form);
  const check = {
    form,
    begun: () => book.recall(KEPT) !== undefined,
    /** The entry of a question. @param {Round} round @param {number} at @returns {Entry} */
    entry: (round, at) => kept()[round][at],
    /**
     * Changes an entry; it is then compared with the right answer again.
     * @param {Round} round
     * @param {number} at
     * @param {Entry} more
     */
    put: (round, at, more) => write(round, at, { ...kept()[round][at], ...more, right: undefined }),
    /** @param {Round} round @param {number} at */
    complete: (round, at) =>
      [check.entry(round, at)].every(({ answer, reason, sure }) =>
        [answer, reason, sure].every((value) => value !== undefined),
      ),
    /**
     * Compares an entry with the answer that is right now.
     * @param {Round} round
     * @param {number} at
     * @param {string} key
     */
    settle(round, at, key) {
      const { answer, reason } = check.entry(round, at);
      write(round, at, {
        ...check.entry(round, at),
        right: [answer === key, reason === reasonOf(ITEMS[at], key)],
      });
    },
    /** The first question that is open; as many as there are: none is. @param {Round} round */
    open(round) {
      const entries = kept()[round];
      const at = entries.findIndex(({ right }) => !right);
      return at < 0 ? entries.length : at;
    },
    /** @param {Round} round */
    done: (round) => check.open(round) === ITEMS.length,
    /** @param {Round} round @returns {Mark[]} */
    marks: (round) => kept()[round].map(({ right, sure }) => ({ answer: right[0], reason: right[1], sure })),
    clear() {
      fresh = drawn();
      book.keep(KEPT, undefined);
    },
  };
  return check;

  function kept() {
    const found = book.recall(KEPT);
    if (!found || !FORMS.includes(found.form)) return fresh;
    const other = FORMS.find((other) => other !== found.form);
    const entries = (round, own) => ITEMS.map((item, at) => checked(found[round]?.[at], item, own));
    return { form: found.form, before: entries("before", found.form), after: entries("after", other) };
  }

  function write(round, at, entry) {
    const now = kept();
    book.keep(KEPT, { ...now, [round]: now[round].map((old, place) => (place === at ? entry : old)) });
  }
}

/** Drops parts of a stored entry that are damaged, or of another version. @returns {Entry} */
function checked(found, item, form) {
  const { answer, reason, sure, right } = found ?? {};
  const entry = {
    answer: Object.keys(item[form].options).includes(answer) ? answer : undefined,
    reason: item.reasons.includes(reason) ? reason : undefined,
    sure: Number.isInteger(sure) && Object.hasOwn(LEVELS, sure) ? sure : undefined,
  };
  const whole = Object.values(entry).every((value) => value !== undefined);
  return {
    ...entry,
    right: whole && Array.isArray(right) && right.length === 2 ? right.map(Boolean) : undefined,
  };
}
