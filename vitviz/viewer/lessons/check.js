/**
 * The self-check: eight questions with a reason each, before and after the lessons, in two parallel forms.
 * Where a question is about numbers, the right answer is read from the model on the screen. Does not use the
 * document.
 */

import { strongest } from "../maths/attention.js";
import { Chance } from "../maths/chance.js";
import { grouped, percent } from "../maths/numbers.js";
import { atOf, stateOf } from "./steps.js";
import { truthOf } from "./truths.js";

export const ROUNDS = /** @type {const} */ (["before", "after"]);
export const FORMS = /** @type {const} */ (["a", "b"]);
/** How sure one is of an answer: the last one counts as sure. */
export const LEVELS = /** @type {const} */ (["guess", "rather", "sure"]);
/** Key of the self-check in the storage for guesses. */
const KEPT = "check/kept2"; // the first one had other questions
/** So many orders of options and reasons; one is drawn for each device. */
export const SEEDS = 32;

/**
 * The analysis on the screen, as a form of a question looks at it.
 * @typedef {{at: import("./truths.js").At, value: (truth: string, more?: any) => any,
 *   row: () => Float32Array, prefix: number, pool: string}} Look
 *   row: what the asked token takes from each patch
 * @typedef {{options: Record<string, null|((look: Look) => string)>, reasons: string[],
 *   key: string|((look: Look) => string), state?: any,
 *   marks?: (look: Look) => number[], values?: (look: Look) => Record<string, string|number>}} Form
 *   options: a function that writes the number of the option, or null for an option in words; key: name of
 *   the right option, or a function that gives this name or the right number as it is written. If no option
 *   has that number, the first option in words is right
 * @typedef {{id: string, kind: "taught"|"transfer"|"control", lesson: string|null, steps: number[],
 *   reason: string|Record<string, string>, a: Form, b: Form}} Item
 *   lesson and steps: those that teach it, counted from 1; reason: the right one, or that for each right
 *   option
 * @typedef {typeof ROUNDS[number]} Round
 * @typedef {{answer?: string, reason?: string, sure?: number, key?: string}} Entry  key: the right option
 *   when it was answered
 * @typedef {Required<Entry>} Choice
 * @typedef {{answer: boolean, reason: boolean, sure: number}} Mark
 */

const count =
  (truth) =>
  (/** @type {Look} */ { value }) =>
    grouped(value(truth));
const PATCH = /** @type {[number, number]} */ ([0.37, 0.45]);
const LAST = { layer: "last", head: "mean" };
/** The darker patch of a question: so far down the order of brightness, as a part of all patches. */
const DARKER = 0.25;

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
    reasons: ["alike", "taken", "own"],
    key: ({ at, value }) => percent(value("pairShare", { token: at.partner, partner: at.token })),
    values: (look) => ({ share: share(look), layer: look.at.layer, head: String(look.at.head) }),
  };
}

/** The brightest patch of a map, and one that is darker. @param {Look} look @returns {[number, number]} */
function ranked({ row }) {
  const order = strongest(row(), row().length);
  return [order[0], order[Math.floor(DARKER * order.length)]];
}
/** @param {Look} look */
const shares = (look) => ranked(look).map((patch) => percent(look.row()[patch]));

/** The answer is read from CLS, or gathered from all tokens. @type {Pick<Form, "key"|"state"|"reasons">} */
const READ = {
  state: { ...LAST, token: PATCH },
  reasons: ["map", "read", "gathered"],
  key: ({ pool }) => (pool === "token" ? "stays" : "changes"),
};

/** @type {Item[]} */
export const ITEMS = [
  {
    id: "pixels",
    kind: "taught",
    lesson: "cut",
    steps: [2, 4],
    reason: "small",
    a: {
      options: { small: count("patchNumbers"), colour: () => "1", full: null },
      reasons: ["full", "small", "colour"],
      key: "small",
    },
    b: {
      options: { more: null, either: count("patchNumbers"), each: () => "1" },
      reasons: ["full", "small", "colour"],
      key: "either",
    },
  },
  {
    id: "pair",
    kind: "taught",
    lesson: "ask",
    steps: [1, 4],
    reason: "own",
    a: pairOf({ layer: 1, head: 0, token: PATCH }),
    b: pairOf({ layer: 2, head: 1, token: [0.62, 0.62] }),
  },
  // Fact: no number of a photo enters the pass of another; tests/test_check.py compares both.
  {
    id: "batch",
    kind: "control",
    lesson: null,
    steps: [],
    reason: "apart",
    a: {
      options: { alone: null, leans: null, weaker: null },
      reasons: ["mix", "apart", "share"],
      key: "alone",
    },
    b: { options: { surer: null, same: null, less: null }, reasons: ["mix", "apart", "share"], key: "same" },
  },
  {
    id: "percent",
    kind: "taught",
    lesson: "unknown",
    steps: [3, 4],
    reason: "shared",
    a: {
      options: { low: null, even: null, any: null },
      reasons: ["right", "taught", "shared"],
      key: "any",
    },
    b: {
      options: { little: null, open: null, rest: null },
      reasons: ["right", "taught", "shared"],
      key: "rest",
    },
  },
  // A model without CLS has none that could be the name of a class: the question is about those that have
  // one.
  {
    id: "cls",
    kind: "taught",
    lesson: "notes",
    steps: [1],
    reason: "learned",
    a: {
      options: { learned: null, name: null, photo: null },
      reasons: ["learned", "answer", "pixels"],
      key: "learned",
    },
    b: {
      options: { none: null, all: null, cls: null },
      reasons: ["learned", "places", "pixels"],
      key: "cls",
    },
  },
  {
    id: "late",
    kind: "taught",
    lesson: "matter",
    steps: [7],
    reason: { stays: "read", changes: "gathered" },
    a: { ...READ, marks: ({ at }) => [at.token], options: { changes: null, stays: null, fails: null } },
    b: { ...READ, options: { stays: null, fails: null, changes: null } },
  },
  // A map shows shares of attention; the loss of an answer is another measurement.
  {
    id: "bright",
    kind: "transfer",
    lesson: "hide",
    steps: [1, 2],
    reason: "others",
    a: {
      state: { ...LAST, token: 0 },
      marks: (look) => [look.prefix + ranked(look)[0]],
      values: (look) => ({ share: shares(look)[0] }),
      options: { all: null, open: null, share: (look) => shares(look)[0] },
      reasons: ["sum", "others", "weight"],
      key: "open",
    },
    b: {
      state: { ...LAST, token: 0 },
      marks: (look) => ranked(look).map((patch) => look.prefix + patch),
      values: (look) => ({ share: shares(look)[0], other: shares(look)[1] }),
      options: { brighter: null, darker: null, open: null },
      reasons: ["weight", "spare", "others"],
      key: "open",
    },
  },
  // Fact: a map has a share for every pair of tokens.
  {
    id: "grow",
    kind: "control",
    lesson: null,
    steps: [],
    reason: "pairs",
    a: {
      options: { two: () => "2", four: () => "4", sixteen: () => "16" },
      reasons: ["sides", "rows", "pairs"],
      key: "sixteen",
    },
    b: {
      options: { equal: null, three: () => "3", nine: () => "9" },
      reasons: ["fixed", "rows", "pairs"],
      key: "nine",
    },
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

/** Marks a choice: whether answer and reason are right. @param {Item} item @param {Choice} choice @returns {Mark} */
export const markOf = (item, { answer, reason, sure, key }) => ({
  answer: answer === key,
  reason: reason === reasonOf(item, key),
  sure,
});

/**
 * The orders in which options and reasons are shown, as indices: for each round, question and part.
 * @param {number} seed  below SEEDS
 * @returns {Record<Round, {answer: number[], reason: number[]}[]>}
 */
export function ordersOf(seed) {
  const chance = new Chance(seed, "orders");
  const order = (names) => [...chance.permutation(names.length)];
  const round = () =>
    ITEMS.map(({ a }) => ({ answer: order(Object.keys(a.options)), reason: order(a.reasons) }));
  return { before: round(), after: round() };
}

/** Answer and reason have to be right. @param {Mark} mark */
export const isRight = ({ answer, reason }) => answer && reason;

/** @param {Mark} mark */
export const isSureAndWrong = (mark) => mark.sure === LEVELS.length - 1 && !isRight(mark);

/**
 * The score over all questions, and on the control questions, which no lesson teaches.
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
 * @param {() => number} [lot]  draws the form of the first round, then the order of the options
 */
export function createCheck(book, lot = Math.random) {
  const empty = () => ITEMS.map(() => /** @type {Entry} */ ({}));
  const drawn = () => ({
    form: FORMS[lot() < 0.5 ? 0 : 1],
    seed: Math.floor(lot() * SEEDS),
    before: empty(),
    after: empty(),
  });
  let fresh = drawn();
  const form = (/** @type {Round} */ round) =>
    round === "before" ? kept().form : FORMS.find((other) => other !== kept().form);
  const check = {
    form,
    seed: () => kept().seed,
    begun: () => book.recall(KEPT) !== undefined,
    /** The entry of a question. @param {Round} round @param {number} at @returns {Entry} */
    entry: (round, at) => kept()[round][at],
    /**
     * Changes an entry; it is then compared with the right answer again.
     * @param {Round} round
     * @param {number} at
     * @param {Entry} more
     */
    put: (round, at, more) => write(round, at, { ...kept()[round][at], ...more, key: undefined }),
    /** @param {Round} round @param {number} at */
    complete: (round, at) =>
      [check.entry(round, at)].every(({ answer, reason, sure }) =>
        [answer, reason, sure].every((value) => value !== undefined),
      ),
    /**
     * Keeps with an entry the answer that is right now.
     * @param {Round} round
     * @param {number} at
     * @param {string} key
     */
    settle: (round, at, key) => write(round, at, { ...kept()[round][at], key }),
    /** The first question that is open; as many as there are: none is. @param {Round} round */
    open(round) {
      const entries = kept()[round];
      const at = entries.findIndex(({ key }) => !key);
      return at < 0 ? entries.length : at;
    },
    /** @param {Round} round */
    done: (round) => check.open(round) === ITEMS.length,
    /** The choices of a round that is done. @param {Round} round */
    choices: (round) => /** @type {Choice[]} */ (kept()[round]),
    clear() {
      fresh = drawn();
      book.keep(KEPT, undefined);
    },
  };
  return check;

  function kept() {
    const found = book.recall(KEPT);
    if (!FORMS.includes(found?.form) || !(found.seed >= 0 && found.seed < SEEDS)) return fresh;
    const other = FORMS.find((other) => other !== found.form);
    const entries = (round, own) => ITEMS.map((item, at) => checked(found[round]?.[at], item, own));
    return {
      form: found.form,
      seed: Math.floor(found.seed),
      before: entries("before", found.form),
      after: entries("after", other),
    };
  }

  function write(round, at, entry) {
    const now = kept();
    book.keep(KEPT, { ...now, [round]: now[round].map((old, place) => (place === at ? entry : old)) });
  }
}

/** Drops parts of a stored entry that are damaged, or of another version. @returns {Entry} */
function checked(found, item, form) {
  const { answer, reason, sure, key } = found ?? {};
  const { options, reasons } = item[form];
  const entry = {
    answer: Object.hasOwn(options, answer) ? answer : undefined,
    reason: reasons.includes(reason) ? reason : undefined,
    sure: Number.isInteger(sure) && Object.hasOwn(LEVELS, sure) ? sure : undefined,
  };
  const whole = Object.values(entry).every((value) => value !== undefined);
  return { ...entry, key: whole && Object.hasOwn(options, key) ? key : undefined };
}
