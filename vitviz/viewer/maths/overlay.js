/** The overlay of a selection: the values over the picture and their scale, or why there are none. */

import { largest } from "./colour.js";
import { evenScale } from "./difference.js";
import { mainExplainer, questionOf } from "./explaining.js";

/** A scale of attention ends at least here, in multiples of uniform attention, so that an even map looks even. */
export const LEAST_TIMES = 3;

/**
 * @typedef {{kind: string, values: Float32Array|null,
 *   scale: {min: number, max: number}, colours: string, uniform: number|null,
 *   missing: null|"layer"|"tokens"|"building"|"asking"|"impossible"|"failed"|"prefix"|"positions"|"noPositions"|"explaining"|"explainFailed"|"explainAbsent"}} Overlay
 *   uniform: the value of uniform attention; null for cosine similarities
 *   values: one for each token; NaN where a token has none
 */

/**
 * @param {import("../main.js").App} app
 * @param {number} token  the selected one, or the one under the pointer
 * @returns {Overlay}
 */
export function overlayOf(app, token) {
  const own = overlayAlone(app, token);
  const other = app.facing?.();
  if (!other || !own.values) return own;
  const { values, scale } = overlayAlone(other, other.shownToken());
  return values ? { ...own, scale: spanOf(own.scale, own.uniform === null ? scale : perToken(scale, other, app)) } : own;
}

/** The scale that covers two scales. */
export function spanOf(scale, other) {
  return other ? { min: Math.min(scale.min, other.min), max: Math.max(scale.max, other.max) } : scale;
}

/** A scale for another number of tokens, with the same multiples of uniform attention. */
function perToken({ min, max }, from, to) {
  const times = from.source.grid.tokens / to.source.grid.tokens;
  return { min: min * times, max: max * times };
}

/**
 * One scale for the maps of both analyses.
 * @param {import("../main.js").App} app
 * @param {(app: import("../main.js").App) => {min: number, max: number}|null} scaleOf  null while it is not known
 * @param {boolean} shares  whether values are shares of attention, which are smaller where there are more tokens
 * @returns {{min: number, max: number}|null}
 */
export function scaleOfBoth(app, scaleOf, shares = true) {
  const [own, other] = [scaleOf(app), app.facing?.() ?? null];
  const theirs = own && other && scaleOf(other);
  return theirs ? spanOf(own, shares ? perToken(theirs, other, app) : theirs) : own;
}

function overlayAlone(app, token) {
  const { selection } = app;
  const none = { kind: selection.overlay, values: null, scale: { min: 0, max: 1 },
    colours: app.taste.colours, uniform: 1 / app.source.grid.tokens, missing: null };
  if (selection.overlay === "attention") return attentionOverlay(app, token, none);
  if (selection.overlay === "rollout") return rolloutOverlay(app, token, none);
  if (selection.overlay === "positions") return positionsOverlay(app, token, none);
  if (selection.overlay === "features") return featuresOverlay(app, token, none);
  if (selection.overlay === "explain") return explainOverlay(app, none);
  return none;
}

function explainOverlay(app, none) {
  const one = mainExplainer(app.selection, app.source);
  const file = app.source.explanations.of(questionOf(app.selection, app.source, one));
  const found = file.get();
  const missing = found ? null : file.error ? "explainFailed" : file.exists ? "explaining" : "explainAbsent";
  return { ...none, uniform: null, missing, ...drawnBy(one, found, app) };
}

/**
 * How the values of an explainer are drawn: those with a sign around 0, in colours of their own.
 * @param {import("../types.js").Explainer} one
 * @param {import("../data/explanations.js").Explanation|null} found
 * @param {{taste: any, source: {grid: import("./geometry.js").Grid}}} app
 * @returns {{values: Float32Array|null, scale: {min: number, max: number}, colours: string}}
 */
export function drawnBy({ signed }, found, { taste, source: { grid } }) {
  const colours = signed ? "diverging" : taste.colours;
  if (!found) return { values: null, scale: { min: 0, max: 1 }, colours };
  const { values } = found;
  const scale = signed ? evenScale(values, grid) : { min: 0, max: largest(values, grid.prefix, grid.tokens, 1e-9) };
  return { values, scale, colours };
}

function attentionOverlay(app, token, none) {
  const { layer, head, direction } = app.selection;
  const maps = app.source.maps.of(layer, token, direction);
  if (!maps) return { ...none, missing: "layer" };
  const values = app.source.maps.head(layer, token, direction, head);
  return { ...none, values, scale: attentionScale(app, maps, values) };
}

/**
 * From 0 to the largest value of a patch, in this map or in all heads, and at least to `leastEnd`. Prefix tokens may have larger
 * values: with them in the scale all patches would look black, and their tiles show the numbers.
 * @returns {{min: number, max: number}}
 */
export function attentionScale({ taste, source: { grid, manifest } }, maps, values) {
  if (taste.scale === "map") return patchScale(values, grid);
  let max = leastEnd(grid.tokens);
  for (let head = 0; head < manifest.num_heads; head++) {
    const start = head * grid.tokens;
    max = largest(maps.rows, start + grid.prefix, start + grid.tokens, max);
  }
  return { min: 0, max };
}

/**
 * The layer or head of the other analysis that is compared with one: the selected with the selected,
 * else the same number.
 * @param {import("../main.js").App} app
 * @param {import("../main.js").App} of
 * @param {"layer"|"head"} field
 */
export function opposite(app, of, field, value) {
  return value === app.selection[field] ? of.selection[field] : value;
}

/**
 * The scale of the map of one head in a layer, for the shown token, in both analyses.
 * @param {import("../main.js").App} app
 * @param {number} layer
 * @param {number|"mean"} head
 * @param {{rows: Float32Array, mean: Float32Array}|null} maps  of the layer, where they are at hand
 * @param {Float32Array|null} values  of the head
 */
export function headScale(app, layer, head, maps = null, values = null) {
  if (maps && !app.facing()) return attentionScale(app, maps, values);
  return scaleOfBoth(app, (of) => {
    const { depth, num_heads: heads } = of.source.manifest;
    const at = { layer: opposite(app, of, "layer", layer), head: opposite(app, of, "head", head) };
    if (at.layer >= depth || (at.head !== "mean" && at.head >= heads)) return null;
    const { direction } = of.selection;
    const theirs = of.source.maps.of(at.layer, of.shownToken(), direction);
    return theirs && attentionScale(of, theirs, of.source.maps.head(at.layer, of.shownToken(), direction, at.head));
  });
}

/**
 * The least end of a scale of attention or rollout: with the largest value as its end, a map that is
 * nearly even would look as if it said something.
 * @param {number} tokens
 */
export function leastEnd(tokens) {
  return Math.min(1, LEAST_TIMES / tokens);
}

/** From 0 to the largest value of a patch in a map of attention or rollout, and at least to `leastEnd`. */
export function patchScale(values, grid) {
  return { min: 0, max: largest(values, grid.prefix, grid.tokens, leastEnd(grid.tokens)) };
}

function rolloutOverlay(app, token, none) {
  const { layer, first, residual, fusion } = app.selection;
  const values = app.source.relevance.of({ token, layer, first, residual, fusion });
  if (values) return { ...none, values, scale: patchScale(values, app.source.grid) };
  if (!app.source.relevance.possible) return { ...none, missing: "impossible" };
  if (app.source.relevance.error) return { ...none, missing: "failed" };
  return { ...none, missing: app.source.relevance.ask ? "asking" : "building" };
}

function positionsOverlay(app, token, none) {
  const scale = { min: -1, max: 1 };
  const shown = { ...none, scale, colours: "diverging", uniform: null };
  const { positions, grid } = app.source;
  if (!positions.exists) return { ...shown, missing: "noPositions" };
  if (token < grid.prefix) return { ...shown, missing: "prefix" };
  const similar = app.source.positionMap(token);
  if (!similar) return { ...shown, missing: "positions" };
  const values = new Float32Array(app.source.grid.tokens).fill(NaN);
  values.set(similar, app.source.grid.prefix);
  return { ...shown, values };
}

function featuresOverlay(app, token, none) {
  const values = app.source.features.similarity(app.selection.layer, token);
  const shown = { ...none, uniform: null };
  if (!values) return { ...shown, missing: "tokens" };
  return { ...shown, values, scale: similarityScale(values, app.source.grid) };
}

/** From the least to the most similar patch: all tokens of a layer can be very similar. */
export function similarityScale(values, { prefix, tokens }) {
  let [min, max] = [1, -1];
  for (let token = prefix; token < tokens; token++) {
    min = Math.min(min, values[token]);
    max = Math.max(max, values[token]);
  }
  return { min, max: Math.max(max, min + 1e-6) };
}
