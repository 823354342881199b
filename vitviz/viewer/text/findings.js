/** Findings: what a panel has found, in one sentence made from the numbers on the screen, without a word that needs a card. */

import { strongest } from "../maths/attention.js";
import { placeOf } from "../maths/geometry.js";
import { linesOf } from "../maths/marginals.js";
import { multiple, signed } from "../maths/numbers.js";
import { LEAST_TIMES } from "../maths/scales.js";
import { tokenName } from "./words.js";

/** So much more alike must squares of one row or column be, of at most 1, before it is said that this was learned. */
const LEARNED = 0.05;

/**
 * What a rollout says of the patches, but for the one that is asked about: it takes most from itself.
 * @param {import("../main.js").App} app
 * @param {Float32Array} values  of all tokens; they sum to 1, so their mean is 1 / N
 * @param {number} token
 */
export function rolloutFinding(app, values, token) {
  const { t, selection: { first, layer }, source: { grid, manifest } } = app;
  const others = Float32Array.from(values, (value, at) => (at < grid.prefix || at === token ? -1 : value));
  const [best] = strongest(others, 1);
  const times = values[best] * grid.tokens;
  const end = t(first === 0 && layer === manifest.model.depth - 1 ? "foundToTheEnd" : "foundSoFar");
  const [flat, peak] = token < grid.prefix ? ["rolloutFlat", "rolloutPeak"] : ["rolloutFlatOther", "rolloutPeakOther"];
  return t(times < LEAST_TIMES ? flat : peak, { end, name: tokenName(best, app), times: multiple(times) });
}

/**
 * What the positions know of rows and columns; "" for a prefix token, and where a line has all patches.
 * @param {import("../main.js").App} app
 * @param {ArrayLike<number>|null} similar  the similarities of a position to those of all patches
 * @param {number} token
 */
export function positionsFinding(app, similar, token) {
  const { t, source: { grid } } = app;
  const place = placeOf(token, grid);
  if (!similar || !place || grid.rows < 2 || grid.cols < 2) return "";
  const { same, rest } = linesOf(similar, grid.rows, grid.cols, place);
  const text = (value) => signed(value, 2).trim();
  return t(same - rest > LEARNED ? "positionsLearned" : "positionsUnlearned", { same: text(same), rest: text(rest) });
}
