/** What can be saved: tables of numbers, and figures by their names. Each panel knows its own. */

import { placeOf } from "../maths/geometry.js";

/**
 * @typedef {{columns: string[], rows: (string|number)[][]}} Table
 * @typedef {{tables: Record<string, Table>, figures: string[]}} Saves
 *   tables: by name, none while its numbers are not here; figures: what the host draws
 * @typedef {import("../main.js").App} App
 * @typedef {import("../types.js").View} View
 */

/** Which figure shows what lies over the picture. */
const FIGURES = {
  attention: "attention", rollout: "rollout", positions: "positions", features: "features", none: "patches",
};

/**
 * The stage: the value of every token that lies over the picture.
 * @param {App} app
 * @param {View} view
 * @returns {Saves}
 */
export function stageSaves(app, { shown }) {
  const { overlay } = app.selection;
  const tables = shown.values ? { picture: tokenTable(app, { [overlay]: shown.values }) } : {};
  // Of positions there is nothing to draw without a patch that has one.
  return { tables, figures: overlay === "positions" && !shown.values ? [] : [FIGURES[overlay]] };
}

/** One row for each token, with where it is; a value that a token does not have is left empty. */
export function tokenTable({ source: { manifest, grid } }, columns) {
  const names = Object.keys(columns);
  const rows = Array.from({ length: grid.tokens }, (_, token) => {
    const place = placeOf(token, grid);
    const where = place ? ["patch", place.row, place.col] : [manifest.prefix_tokens[token], "", ""];
    return [token, ...where, ...names.map((name) => columns[name][token])];
  });
  return { columns: ["token", "kind", "row", "col", ...names], rows };
}
