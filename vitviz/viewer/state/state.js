/** What is looked at: the selection, always valid, with its history. No document in here. */

import { COLOUR_MAPS } from "../maths/colour.js";
import { middleToken, placeOf, samePlace, startToken, tokenOf } from "../maths/geometry.js";
import { ORDERS } from "../maths/patch.js";
import { FUSIONS } from "../maths/rollout.js";

export const PANEL_IDS = ["patches", "positions", "attention", "qk", "rollout", "features", "predictions", "training", "model"];

/** What can lie over the picture. Opening a panel puts its own subject there. */
export const OVERLAYS = ["attention", "rollout", "positions", "features", "none"];

const OVERLAY_OF_PANEL = {
  patches: "none", positions: "positions", attention: "attention", rollout: "rollout",
  features: "features", qk: "attention",
};

/** What the panel of attention shows. */
export const GALLERIES = ["layer", "all", "matrix", "dots"];

/** How the numbers of a patch are written. */
export const UNITS = ["normalised", "raw"];

/** What the lines of the logit lens are. */
export const LENSES = ["probability", "rank"];

/** The positions in the mosaic of them all. */
export const MOSAICS = ["trained", "untrained"];

/**
 * @typedef {{token: number, partner: number, pinned: boolean, layer: number, head: number|"mean",
 *   direction: "from"|"to", panel: string, overlay: string,
 *   first: number, residual: number, fusion: "mean"|"max"|"min",
 *   mosaic: "trained"|"untrained", moment: number|"last"}} Selection
 *   partner: the token on the other side of a pair; the key where attention is from the token
 *   moment: of the film of the training, which may have fewer
 * @typedef {{depth: number, heads: number, grid: import("../maths/geometry.js").Grid}} Shape
 */

/**
 * Where a new analysis starts: the first prefix token, the last layer, the mean of its heads.
 * @param {Shape} shape
 * @returns {Selection}
 */
export function startSelection({ depth, grid }) {
  return {
    token: startToken(grid), partner: middleToken(grid), pinned: false,
    layer: depth - 1, head: "mean", direction: "from",
    panel: "attention", overlay: "attention", first: 0, residual: 0.5, fusion: "mean",
    mosaic: "trained", moment: "last",
  };
}

/**
 * A selection in which every field is possible: what is not possible in `wanted` comes from `base`.
 * @param {any} wanted  anything, also from an address or from an older analysis
 * @param {Selection} base
 * @param {Shape} shape
 * @returns {Selection}
 */
export function validSelection(wanted, base, { depth, heads, grid }) {
  const whole = (value, end) => Number.isInteger(value) && value >= 0 && value < end;
  const checks = {
    token: (value) => whole(value, grid.tokens),
    partner: (value) => whole(value, grid.tokens),
    pinned: (value) => typeof value === "boolean",
    layer: (value) => whole(value, depth),
    head: (value) => value === "mean" || whole(value, heads),
    direction: (value) => value === "from" || value === "to",
    panel: (value) => PANEL_IDS.includes(value),
    overlay: (value) => OVERLAYS.includes(value),
    first: (value) => whole(value, depth),
    residual: (value) => typeof value === "number" && value >= 0 && value <= 1,
    fusion: (value) => FUSIONS.includes(value),
    mosaic: (value) => MOSAICS.includes(value),
    moment: (value) => value === "last" || whole(value, Infinity),
  };
  const valid = { ...base };
  for (const [field, possible] of Object.entries(checks)) {
    const value = wanted?.[field];
    if (value !== undefined && possible(value)) valid[field] = value;
  }
  // Only a token that exists can be kept.
  if (wanted?.token !== undefined && valid.token !== wanted.token) valid.pinned = base.pinned;
  // A range of layers has its first not above its last; the one that was moved pushes the other.
  if (valid.first > valid.layer) {
    if (wanted?.first !== undefined && wanted.layer === undefined) valid.layer = valid.first;
    else valid.first = valid.layer;
  }
  return valid;
}

/**
 * A selection for another grid: a patch stays where it is in the picture, a prefix token keeps its
 * number, and is none where there are fewer of them.
 * @param {Selection} selection
 * @param {import("../maths/geometry.js").Grid} from
 * @param {import("../maths/geometry.js").Grid} to
 * @returns {any}  to be checked by `validSelection`
 */
export function carried(selection, from, to) {
  const follow = (token) => {
    const place = placeOf(token, from);
    if (!place) return token < to.prefix ? token : null;
    const { row, col } = samePlace(place, from, to);
    return tokenOf(row, col, to);
  };
  return { ...selection, token: follow(selection.token), partner: follow(selection.partner) };
}

/**
 * The wish to open a panel, with the overlay that belongs to it.
 * @param {string} panel
 * @returns {{panel: string, overlay?: string}}
 */
export function openPanel(panel) {
  const overlay = OVERLAY_OF_PANEL[panel];
  return overlay ? { panel, overlay } : { panel };
}

/**
 * The token that is looked at in a panel where none was chosen: Patches and Positions have nothing
 * to show of a prefix token and begin with the patch in the middle.
 * @param {string} panel
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {number}
 */
export function restingToken(panel, grid) {
  return panel === "patches" || panel === "positions" ? middleToken(grid) : startToken(grid);
}

/**
 * The wish to open a panel, for a visitor who comes from `selection`: a prefix token that was not
 * pinned gives way to a patch where one is needed. The mean of heads has no queries and keys: they
 * are those of head 0.
 * @returns {any}
 */
export function visitPanel(panel, { token, pinned, head }, grid) {
  if (panel === "qk" && head === "mean") return { ...openPanel(panel), head: 0 };
  const resting = restingToken(panel, grid);
  if (resting < grid.prefix || pinned || token >= grid.prefix) return openPanel(panel);
  return { ...openPanel(panel), token: resting };
}

/**
 * A wish from an address in full: its panel is visited from `base`, and a token that was named is
 * kept.
 * @param {any|null} wanted
 * @param {Selection} base
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {any}
 */
export function complete(wanted, base, grid) {
  return {
    ...(wanted?.panel ? visitPanel(wanted.panel, base, grid) : {}),
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
 * The history after one more selection. A slider that is being dragged is one step: changes of
 * the same fields shortly after one another replace each other.
 * @param {History} history
 * @param {Selection} selection
 * @param {number} time  in milliseconds
 * @returns {History}
 */
export function push(history, selection, time) {
  const fields = Object.keys(selection).filter((f) => selection[f] !== history.now[f]);
  if (fields.length === 0) return history;
  const key = fields.join();
  const same = key === history.key && time - history.time < SAME_MOVE_MS;
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

/**
 * Things of taste, which undo leaves alone.
 * @type {{colours: string, scale: "map"|"heads", smooth: boolean, opacity: number, grid: boolean,
 *   projector: boolean, gallery: string, order: "pixel"|"channel", units: "normalised"|"raw",
 *   lens: "probability"|"rank"}}
 */
export const START_TASTE = {
  colours: "viridis", scale: "map", smooth: false, opacity: 0.65, grid: true, projector: false,
  gallery: "layer", order: "pixel", units: "normalised", lens: "probability",
};

/** Those that are one of a few. */
const CHOICES = {
  colours: COLOUR_MAPS, scale: ["map", "heads"], gallery: GALLERIES, order: ORDERS, units: UNITS, lens: LENSES,
};

/**
 * @param {any} wanted
 * @param {typeof START_TASTE} base
 * @returns {typeof START_TASTE}
 */
export function validTaste(wanted, base = START_TASTE) {
  const taste = { ...base };
  for (const [name, values] of Object.entries(CHOICES)) {
    if (values.includes(wanted?.[name])) taste[name] = wanted[name];
  }
  if (typeof wanted?.opacity === "number" && wanted.opacity >= 0 && wanted.opacity <= 1) taste.opacity = wanted.opacity;
  for (const flag of ["smooth", "grid", "projector"]) {
    if (typeof wanted?.[flag] === "boolean") taste[flag] = wanted[flag];
  }
  return taste;
}
