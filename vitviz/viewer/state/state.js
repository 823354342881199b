/** The selection, which is always valid, and its history. No document in here. */

import { placeOf, samePlace, startToken, tokenOf } from "../maths/geometry.js";
import { OPERATED, isExperiment, isPicture } from "./experiment.js";
import { OVERLAYS } from "./overlays.js";
import { fieldsOf, openPanel, panelOf, startOf, visitPanel } from "./panels.js";
import { FUSIONS } from "../maths/rollout.js";

/**
 * @typedef {{token: number, partner: number|"strongest", pinned: boolean, layer: number, head: number|"mean",
 *   direction: "from"|"to", panel: string, overlay: string,
 *   first: number, residual: number, fusion: "mean"|"max"|"min", lent: any, beside: string, liked: string,
 *   experiment: string, lesson: string, step: number, [own: string]: any}} Selection
 *   partner: the token on the other side of a pair, the key where attention is from the token; "strongest" is
 *     whichever other token has most attention with it
 *   beside: the key of the second analysis, "" if there is none
 *   liked: the key of the picture that the experiment took the place of, "" if there was none
 *   experiment: the interventions of an experiment as a text (experiment.js), "" if there are none; it is
 *     shown while `beside` is OPERATED
 *   lesson: the id of the open lesson, "" if there is none
 *   step: number of the step in the lesson, from 1; 0: the recall before the steps; one more than there are
 *     steps: the card with the findings
 *   lent: the fields that the open panel has borrowed, with their values before
 *   own: fields that a panel adds
 * @typedef {{depth: number, heads: number, grid: import("../maths/geometry.js").Grid,
 *   panels: import("./panels.js").PanelDescription[], besides: string[],
 *   lessons?: import("../lessons/steps.js").Lesson[]}} Shape
 *   besides: keys of the analyses that can be put beside it; lessons: those that can be opened
 */

/**
 * The first selection of a new analysis: the first prefix token, the last layer, the mean of its heads.
 * @param {Shape} shape
 * @returns {Selection}
 */
export function startSelection({ depth, grid, panels }) {
  const open = openPanel(panels.find(({ first }) => first) ?? panels[0]);
  return {
    ...startOf(fieldsOf(panels, "selects")),
    token: startToken(grid),
    partner: "strongest",
    pinned: false,
    layer: depth - 1,
    head: "mean",
    direction: "from",
    overlay: "none",
    ...open,
    first: 0,
    residual: 0.5,
    fusion: "mean",
    lent: {},
    beside: "",
    liked: "",
    experiment: "",
    lesson: "",
    step: 1,
  };
}

/**
 * A selection in which every field is valid: where `wanted` is invalid, `base` stays.
 * @param {any} wanted  anything, also from an address or from an older analysis
 * @param {Selection} base
 * @param {Shape} shape
 * @returns {Selection}
 */
export function validSelection(wanted, base, { depth, heads, grid, panels, besides, lessons = [] }) {
  const whole = (value, end) => Number.isInteger(value) && value >= 0 && value < end;
  const checks = {
    token: (value) => whole(value, grid.tokens),
    partner: (value) => value === "strongest" || whole(value, grid.tokens),
    pinned: (value) => typeof value === "boolean",
    layer: (value) => whole(value, depth),
    head: (value) => value === "mean" || whole(value, heads),
    direction: (value) => value === "from" || value === "to",
    panel: (value) => panelOf(panels, value) !== undefined,
    overlay: (value) => OVERLAYS.some(({ id }) => id === value),
    first: (value) => whole(value, depth),
    residual: (value) => typeof value === "number" && value >= 0 && value <= 1,
    fusion: (value) => FUSIONS.includes(value),
    beside: (value) => value === "" || besides.includes(value),
    experiment: (value) => isExperiment(value, { depth, heads, grid }),
    lent: (value) => value !== null && typeof value === "object",
    lesson: (value) => value === "" || lessons.some(({ id }) => id === value),
    step: (value) => whole(value, Infinity),
  };
  for (const [name, { possible }] of Object.entries(fieldsOf(panels, "selects"))) checks[name] = possible;
  const valid = { ...base };
  for (const [field, possible] of Object.entries(checks)) {
    const value = wanted?.[field];
    if (value !== undefined && possible(value)) valid[field] = value;
  }
  // Only a token that exists can be pinned.
  if (wanted?.token !== undefined && valid.token !== wanted.token) valid.pinned = base.pinned;
  // The first layer of a range is at most its last; the end that was moved pushes the other.
  if (valid.first > valid.layer) {
    if (wanted?.first !== undefined && wanted.layer === undefined) valid.layer = valid.first;
    else valid.first = valid.layer;
  }
  if (valid.beside === OPERATED && valid.experiment === "") valid.beside = "";
  const liked = wanted?.liked ?? (base.beside === OPERATED ? base.liked : base.beside);
  const likes = valid.beside === OPERATED && isPicture(liked) && besides.includes(liked);
  valid.liked = likes ? liked : "";
  const open = lessons.find(({ id }) => id === valid.lesson);
  valid.step = open ? Math.min(Math.max(valid.step, open.recall ? 0 : 1), open.steps.length + 1) : 1;
  return valid;
}

/**
 * A token on another grid: a patch stays where it is in the picture, a prefix token keeps its number.
 * @returns {number|null}  null for a prefix token that the other grid does not have
 */
export function followed(token, from, to) {
  const place = placeOf(token, from);
  if (!place) return token < to.prefix ? token : null;
  const { row, col } = samePlace(place, from, to);
  return tokenOf(row, col, to);
}

/**
 * A selection carried over to another grid: a patch stays where it is in the picture, a prefix token
 * keeps its number, or becomes null where the other grid has fewer prefix tokens. An experiment names patches
 * of its grid, and is carried to no other; the picture whose likeness it changes, to no other analysis.
 * @param {Selection} selection
 * @param {import("../maths/geometry.js").Grid} from
 * @param {import("../maths/geometry.js").Grid} to
 * @returns {any}  to be checked by `validSelection`
 */
export function carried(selection, from, to) {
  const follow = (token) => followed(token, from, to);
  const { lent } = selection;
  const partner = typeof selection.partner === "number" ? follow(selection.partner) : selection.partner;
  const same = ["rows", "cols", "prefix"].every((side) => from[side] === to[side]);
  return {
    ...selection,
    token: follow(selection.token),
    partner,
    liked: "",
    experiment: same ? selection.experiment : "",
    lent: lent.token === undefined ? lent : { ...lent, token: follow(lent.token) },
  };
}

/**
 * The selection that an address asks for, in full: its panel is opened from `base`, and a token that
 * the address names is pinned.
 * @param {any|null} wanted
 * @param {Selection} base
 * @param {Shape} shape
 * @returns {any}
 */
export function complete(wanted, base, shape) {
  const { lent, ...visit } = wanted?.panel ? visitPanel(wanted.panel, base, shape) : /** @type {any} */ ({});
  // A field that the address names is not borrowed.
  const borrowed = Object.entries(lent ?? {}).filter(([name]) => !Object.hasOwn(wanted, name));
  return {
    ...visit,
    ...(lent ? { lent: Object.fromEntries(borrowed) } : {}),
    ...(wanted?.token === undefined ? {} : { pinned: true }),
    ...wanted,
  };
}

/**
 * @typedef {{past: Selection[], now: Selection, future: Selection[],
 *   key: string, time: number}} History
 */

const MOST_STEPS = 200;
const SAME_MOVE_MS = 700;

/** @returns {History} */
export function startHistory(selection) {
  return { past: [], now: selection, future: [], key: "", time: -Infinity };
}

/**
 * The history after one more selection. Dragging a slider is one step: changes of the same fields shortly
 * after one another replace each other. Opening a panel, a second analysis, or a step of a lesson is always a
 * step, and so is every change of an experiment.
 * @param {History} history
 * @param {Selection} selection
 * @param {number} time  in milliseconds
 * @returns {History}
 */
export function push(history, selection, time) {
  const fields = Object.keys(selection).filter((f) => selection[f] !== history.now[f]);
  if (fields.length === 0) return history;
  const key = fields.join();
  const sliding = !["panel", "beside", "experiment", "lesson", "step"].some((field) =>
    fields.includes(field),
  );
  const same = sliding && key === history.key && time - history.time < SAME_MOVE_MS;
  const past = same ? history.past : [...history.past, history.now].slice(-MOST_STEPS);
  return { past, now: selection, future: [], key, time };
}

/** @returns {History} the same history when there is nothing to undo */
export function undo(history) {
  if (history.past.length === 0) return history;
  const past = history.past.slice(0, -1);
  const now = history.past[history.past.length - 1];
  return { past, now, future: [history.now, ...history.future], key: "", time: -Infinity };
}

/** @returns {History} the same history when there is nothing to redo */
export function redo(history) {
  if (history.future.length === 0) return history;
  const [now, ...future] = history.future;
  return { past: [...history.past, history.now], now, future, key: "", time: -Infinity };
}
