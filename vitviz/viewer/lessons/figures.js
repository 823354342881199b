/**
 * Figures of steps: the thing that a step asks or tells of. It is drawn in the lesson bar, before the guess
 * without what is asked; or it stands on the page already, in sight of the bar.
 */

import { CARD } from "./steps.js";

/**
 * Where the evidence stands on the page: the picture; the panel under a short step; the frame in the whole
 * photo; the lines of code in the bar.
 */
export const ON_PAGE = ["stage", "panel", "photo", "code"];

/**
 * pair: the picture, and the analysis beside it or after its experiment, each with values; bars: one value
 * for each row; maps: one map for each row; of: operand with one row for each head, in place of `rows`; note:
 * operand written under each map; curve: a value over layers, moments of the film, shares or sums, at: the
 * share or sum that is asked about; numbers: vectors as strips, ends: the truth at the end of a strip; row:
 * the softmax row of a pair; answers: the classes of the answer.
 * @typedef {import("./truths.js").Operand} Operand
 * @typedef {{kind: "pair", own: Operand[], other: Operand[]}
 *   | {kind: "bars"|"maps", rows?: Record<string, Operand>, of?: Operand, note?: Operand}
 *   | {kind: "curve", over: "layers"|"moments"|"shares"|"sums", of: Operand, at?: Operand}
 *   | {kind: "numbers", rows: string[], ends: Record<string, Operand>}
 *   | {kind: "row", of: "scores"|"attention"} | {kind: "answers"}} Part
 * @typedef {"stage"|"panel"|"photo"|"code"|{before?: Part, after?: Part}} Figure
 *   before: shown until the answer is told, and after it too unless there is another
 */

const OWN = [{ truth: "finalWord" }, { truth: "wordShare" }];

/** @param {Operand[]} own @param {Operand[]} other @returns {Part} */
export const pair = (own, other) => ({ kind: "pair", own, other });
/** @param {Record<string, Operand>} rows @returns {Part} */
export const bars = (rows) => ({ kind: "bars", rows });
/** @param {Record<string, Operand>} rows @returns {Part} */
export const maps = (rows) => ({ kind: "maps", rows });
/** @param {string[]} rows @param {Record<string, Operand>} ends @returns {Part} */
export const numbers = (rows, ends = {}) => ({ kind: "numbers", rows, ends });
/**
 * @param {"layers"|"moments"|"shares"|"sums"} over
 * @param {any} of  an operand, and fields of the part
 * @returns {Part}
 */
export const curve = (over, of, more = {}) => ({ kind: "curve", over, of, ...more });
/** A figure that comes with the answer. @param {Part} after @param {Part} [before] */
export const told = (after, before) => ({ before, after });

/** The picture and what an experiment makes of it, whose answer is told after the guess. */
export const EXPERIMENT = told(pair(OWN, [{ truth: "otherWord" }, { truth: "otherShare" }]), pair(OWN, []));

/** The classes of the answer, most probable first. @type {Part} */
export const ANSWERS = { kind: "answers" };

/** The share of a pair and that of all others, before and after the score of the pair grows. */
export const RAISED = told(
  bars({ pair: { truth: "raisedShare" }, others: { truth: "raisedRest" } }),
  bars({ pair: { truth: "pairShare" }, others: { truth: "pairRest" } }),
);

/** A norm, of a token and of one twice as long. */
export const NORMED = numbers(["before", "normed", "twice", "twiceNormed"]);

/**
 * The figure of a step as it is now: a place on the page, a part to draw, or null.
 * @param {import("./steps.js").Lesson} lesson
 * @param {import("./steps.js").Step} step
 * @param {boolean} answered  whether the answer is told
 * @returns {"stage"|"panel"|"photo"|"code"|Part|null}
 */
export function figureIn(lesson, step, answered) {
  const figure = step.id === CARD ? undefined : (step.figure ?? lesson.figure);
  if (!figure) return null;
  if (typeof figure === "string") return figure;
  return (answered ? figure.after : null) ?? figure.before ?? null;
}
