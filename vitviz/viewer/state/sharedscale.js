/** Scales of maps, shared by two analyses that stand side by side. */

import { headsScale, patchScale, perToken, spanOf } from "../maths/scales.js";

/**
 * Whether a token was taken out of a pass: there it looks at itself alone, which is no map to measure others
 * by.
 */
export const isGone = ({ source: { manifest, grid } }, token) =>
  Boolean(manifest.pass?.removed?.includes(token - grid.prefix));

/**
 * One scale for the maps of both analyses; that of one where the other has lost the token.
 * @param {import("../main.js").App} app
 * @param {(app: import("../main.js").App) => import("../maths/scales.js").Scale|null} scaleOf  null while it
 *   is not known
 * @param {boolean} shares  whether values are shares of attention, which are smaller where there are more
 *   tokens
 * @returns {import("../maths/scales.js").Scale|null}
 */
export function scaleOfBoth(app, scaleOf, shares = true) {
  const [own, other] = [scaleOf(app), app.facing?.() ?? null];
  const theirs = own && other && scaleOf(other);
  if (!theirs) return own;
  const fitting = shares ? perToken(theirs, other.source.grid, app.source.grid) : theirs;
  if (shares && isGone(other, other.pointer.shownToken())) return own;
  if (shares && isGone(app, app.pointer.shownToken())) return fitting;
  return spanOf(own, fitting);
}

/** The scale of a map of attention: its own, or that of all heads of the layer, as the taste wants it. */
export function attentionScale({ taste, source: { grid, manifest } }, maps, values) {
  return taste.scale === "map"
    ? patchScale(values, grid)
    : headsScale(maps.rows, manifest.model.num_heads, grid);
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
    const { depth, num_heads: heads } = of.source.manifest.model;
    const at = { layer: opposite(app, of, "layer", layer), head: opposite(app, of, "head", head) };
    if (at.layer >= depth || (at.head !== "mean" && at.head >= heads)) return null;
    const { direction } = of.selection;
    const theirs = of.source.maps.of(at.layer, of.pointer.shownToken(), direction);
    return (
      theirs &&
      attentionScale(of, theirs, of.source.maps.head(at.layer, of.pointer.shownToken(), direction, at.head))
    );
  });
}
