/** The overlays: the maps that can lie over the picture. Each describes itself in one row of the table. */

import { largest } from "../maths/colour.js";
import { evenScale } from "../maths/difference.js";
import { placeOf } from "../maths/geometry.js";
import { insideMap, insideMeans } from "../maths/inside.js";
import { patchScale, perToken, similarityScale, spanOf } from "../maths/scales.js";
import { mainExplainer, questionOf } from "./explaining.js";
import { attentionScale, isGone } from "./sharedscale.js";

/**
 * An overlay: its values, one for each token and NaN where a token has none, and their scale; or why there
 * are none.
 * @typedef {{kind: string, values: Float32Array|null,
 *   scale: import("../maths/scales.js").Scale, colours: string, uniform: number|null,
 *   painted?: Float32Array|null, painting?: string, told?: "rotary"|"bias", decimals?: number,
 *   missing: null|"layer"|"tokens"|"building"|"asking"|"impossible"|"failed"|"prefix"|"gone"|
 *     "positions"|"noPositions"|"explaining"|"explainFailed"|"explainAbsent"}} Overlay
 *   kind: the id of its row
 *   uniform: the value of uniform attention, null for values that are no shares of attention
 *   painted: red, green, blue of each patch, in place of values; painting: their kind, as of a panel's `painting`
 *   told: what is shown in place of learned positions: what those inside attention do to a score
 *   decimals: of the numbers in the legend, where they are not those of the row
 * @typedef {(app: import("../main.js").App, token: number) => Partial<Overlay>} ValuesOf
 */

/**
 * A row of the table; its name in the dictionaries is "overlay_ID".
 * @typedef {{
 *   id: string, figure: string, controls: string[],
 *   valuesOf?: ValuesOf,
 *   says?: (selection: any, shown: Overlay) => string, link?: string[], ahead?: boolean, decimals?: number|null,
 *   later?: boolean, flows?: boolean, possible?: (source: import("../data/source.js").Source) => boolean,
 *   costs?: (source: import("../data/source.js").Source) => boolean,
 * }} OverlayDescription
 *   figure: the figure for print
 *   later: it can be drawn once there are values, which positions never are for a prefix token
 *   controls: the controls of the page that change it
 *   link: the fields of the selection that stand in its links
 *   valuesOf: what differs from an overlay without values
 *   says: the end of the keys of the sentences that say what is shown ("saying_" and "about_"), by default its id
 *   ahead: what is shown first comes before its layer
 *   decimals: of the numbers in its legend, by default none; null: as many as each needs
 *   flows: its values are shares that sum to 1
 *   possible: whether this source can have it, by default any
 *   costs: whether a map of another token has to be asked for
 */

/** @type {OverlayDescription[]} */
export const OVERLAYS = [
  {
    id: "attention",
    figure: "attention",
    controls: ["layer", "head", "direction", "colours", "scale", "opacity"],
    valuesOf: attention,
    says: ({ direction }) => direction,
    ahead: true,
    flows: true,
  },
  {
    id: "rollout",
    figure: "rollout",
    controls: ["layer", "colours", "opacity"],
    link: ["first", "residual", "fusion"],
    valuesOf: rollout,
    flows: true,
    possible: (source) => source.relevance.possible,
    costs: (source) => Boolean(source.relevance.ask),
  },
  {
    id: "positions",
    figure: "positions",
    later: true,
    controls: ["opacity"],
    valuesOf: positions,
    says: (_selection, { told }) => (told ? "positions_" + told : "positions"),
  },
  {
    id: "features",
    figure: "features",
    controls: ["layer", "colours", "opacity"],
    valuesOf: features,
    decimals: 3,
    says: (_selection, { painted }) => (painted ? "painted" : "features"),
  },
  {
    id: "explain",
    figure: "explanation",
    later: true,
    controls: ["colours", "opacity"],
    link: ["explainer", "target"],
    decimals: null,
    valuesOf: explanation,
    says: (_selection, { colours }) => (colours === "diverging" ? "explainSigned" : "explain"),
    costs: () => true,
  },
  { id: "none", figure: "patches", controls: [] },
];

/** The overlay of a selection that is valid. @returns {OverlayDescription} */
export function overlayNamed(id) {
  const found = OVERLAYS.find((one) => one.id === id);
  if (!found) throw new RangeError("no overlay " + id);
  return found;
}

/**
 * The overlay of a selection.
 * @param {import("../main.js").App} app
 * @param {number} token  the selected one, or the one under the pointer
 * @returns {Overlay}
 */
export function overlayOf(app, token) {
  const painting = app.selection.overlay === app.panel?.().overlay ? app.panel().painting?.(app) : null;
  if (painting)
    return {
      ...overlayAlone(app, token),
      values: null,
      colours: "",
      painted: painting.colours,
      painting: painting.kind,
      missing: painting.colours ? null : "tokens",
    };
  const own = overlayAlone(app, token);
  const other = app.facing?.();
  if (!other || !own.values) return own;
  const { values, scale } = overlayAlone(other, other.pointer.shownToken());
  if (!values) return own;
  return {
    ...own,
    scale: spanOf(
      own.scale,
      own.uniform === null ? scale : perToken(scale, other.source.grid, app.source.grid),
    ),
  };
}

/** @returns {Overlay} */
function overlayAlone(app, token) {
  const { id, valuesOf } = overlayNamed(app.selection.overlay);
  return {
    kind: id,
    values: null,
    scale: { min: 0, max: 1 },
    colours: app.taste.colours,
    uniform: 1 / app.source.grid.tokens,
    missing: null,
    ...valuesOf?.(app, token),
  };
}

/** @type {ValuesOf} */
function attention(app, token) {
  const { layer, head, direction } = app.selection;
  if (isGone(app, token)) return { missing: "gone" };
  const maps = app.source.maps.of(layer, token, direction);
  if (!maps) return { missing: "layer" };
  const values = app.source.maps.head(layer, token, direction, head);
  return { values, scale: attentionScale(app, maps, values) };
}

/** @type {ValuesOf} */
function rollout(app, token) {
  const { source } = app;
  const { layer, first, residual, fusion } = app.selection;
  if (isGone(app, token)) return { missing: "gone" };
  const values = source.relevance.of({ token, layer, first, residual, fusion });
  if (values) return { values, scale: patchScale(values, source.grid) };
  if (!source.relevance.possible) return { missing: "impossible" };
  if (source.relevance.error) return { missing: "failed" };
  return { missing: source.relevance.ask ? "asking" : "building" };
}

/** @type {ValuesOf} */
function positions({ source, selection }, token) {
  const shown = { scale: { min: -1, max: 1 }, colours: "diverging", uniform: null };
  const { grid } = source;
  if (!source.positions.exists && !source.inside?.exists) return { ...shown, missing: "noPositions" };
  if (token < grid.prefix) return { ...shown, missing: "prefix" };
  const found = source.positions.exists ? { map: source.positionMap(token) } : told(source, selection, token);
  if (!found?.map) return { ...shown, missing: "positions" };
  const values = new Float32Array(grid.tokens).fill(NaN);
  values.set(found.map, grid.prefix);
  return { ...shown, ...found, values };
}

/**
 * The effect of positions inside attention, in the chosen head or on the mean of the heads; null while they
 * are loading.
 */
function told({ inside: file, grid }, { layer, head }, token) {
  const inside = file.get();
  if (!inside) return null;
  const place = /** @type {{row: number, col: number}} */ (placeOf(token, grid));
  const map =
    head === "mean" || inside.heads === 1
      ? insideMeans(inside, layer, place, grid)
      : insideMap(inside, layer, head, place, grid);
  return { map, told: inside.kind, decimals: 2, scale: { min: -inside.most, max: inside.most } };
}

/** @type {ValuesOf} */
function features({ selection, source }, token) {
  const values = source.features.similarity(selection.layer, token);
  return values
    ? { uniform: null, values, scale: similarityScale(values, source.grid) }
    : { uniform: null, missing: "tokens" };
}

/** @type {ValuesOf} */
function explanation(app) {
  const one = mainExplainer(app.selection, app.source);
  if (!one) return { uniform: null, missing: "explainAbsent" };
  const file = app.source.explanations.of(questionOf(app.selection, app.source, one));
  const found = file.get();
  const missing = found ? null : file.error ? "explainFailed" : file.exists ? "explaining" : "explainAbsent";
  return { uniform: null, missing, ...drawnBy(one, found, app) };
}

/**
 * How the values of an explainer are drawn: those with a sign around 0, in colours of their own.
 * @param {import("../types.js").Explainer} one
 * @param {import("../data/explanations.js").Explanation|null} found
 * @param {{taste: any, source: {grid: import("../maths/geometry.js").Grid}}} app
 * @returns {{values: Float32Array|null, scale: import("../maths/scales.js").Scale, colours: string}}
 */
export function drawnBy({ signed }, found, { taste, source: { grid } }) {
  const colours = signed ? "diverging" : taste.colours;
  if (!found) return { values: null, scale: { min: 0, max: 1 }, colours };
  const { values } = found;
  const scale = signed
    ? evenScale(values, grid)
    : { min: 0, max: largest(values, grid.prefix, grid.tokens, 1e-9) };
  return { values, scale, colours };
}
