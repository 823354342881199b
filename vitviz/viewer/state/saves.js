/** Files to save: tables of numbers, and names of figures. Each panel lists its own. */

import { placeOf } from "../maths/geometry.js";
import { overlayNamed } from "./overlays.js";

/**
 * @typedef {{tables: Record<string, import("../maths/csv.js").Table>, figures: string[]}} Saves
 *   tables: by name, without those whose numbers are not here yet; figures: names of those that the host
 *   draws
 * @typedef {import("../main.js").App} App
 * @typedef {import("../types.js").View} View
 */

/**
 * The files of the stage: the value of every token in the overlay.
 * @param {App} app
 * @param {View} view
 * @returns {Saves}
 */
export function stageSaves(app, { shown }) {
  const { overlay } = app.selection;
  /** @type {Saves["tables"]} */
  const tables = shown.values ? { picture: tokenTable(app, { [overlay]: shown.values }) } : {};
  const { figure, later } = overlayNamed(overlay);
  // The host draws similarities of learned positions alone, and tokens before the norm.
  return {
    tables,
    figures: shown.painting === "normed" || shown.told || (later && !shown.values) ? [] : [figure],
  };
}

/** One row for each token, with its row and column; a value that a token does not have is left empty. */
export function tokenTable({ source: { manifest, grid } }, columns) {
  const names = Object.keys(columns);
  const rows = Array.from({ length: grid.tokens }, (_, token) => {
    const place = placeOf(token, grid);
    const where = place ? ["patch", place.row, place.col] : [manifest.model.prefix_tokens[token], "", ""];
    return [token, ...where, ...names.map((name) => columns[name][token])];
  });
  return { columns: ["token", "kind", "row", "col", ...names], rows };
}
