/** The difference of two maps of equal grids, on a scale that is symmetric around 0. */

import { dot } from "./attention.js";
import { largest } from "./colour.js";
import { lengthOf } from "./mixing.js";

/** Whether two grids have as many rows, columns and prefix tokens, so that maps can be subtracted. */
export function sameGrid(first, second) {
  return first.rows === second.rows && first.cols === second.cols && first.prefix === second.prefix;
}

/**
 * First minus second, for each token; NaN where either has no value.
 * @param {ArrayLike<number>} first
 * @param {ArrayLike<number>} second
 * @returns {Float32Array}
 */
export function differenceOf(first, second) {
  return Float32Array.from(first, (value, token) => value - second[token]);
}

/**
 * A scale around 0, up to the largest difference of a patch.
 * @param {Float32Array} difference
 * @param {import("./geometry.js").Grid} grid
 * @returns {{min: number, max: number}}
 */
export function evenScale(difference, { prefix, tokens }) {
  const max = largest(difference.map(Math.abs), prefix, tokens, 1e-7);
  return { min: -max, max };
}

/**
 * The cosine distance of two vectors: 1 - cosine of the angle between them, 0 for the same direction. A vector
 * of zeros has no direction: its distance is 1.
 * @param {Float32Array} first
 * @param {Float32Array} second
 */
export const cosineDistance = (first, second) =>
  1 - dot(first, 0, second, 0, first.length) / (lengthOf(first) * lengthOf(second) || 1);

/** The token with the largest absolute difference. */
export function mostDifferent(difference) {
  let most = 0;
  for (let token = 1; token < difference.length; token++) {
    const [here, best] = [Math.abs(difference[token]), Math.abs(difference[most])];
    if (here > best || Number.isNaN(best)) most = token;
  }
  return most;
}

/**
 * The most probable classes of two models with their probabilities, matched by name; the classes of the first
 * model come first. Outputs of the kind "value" have no probabilities: their values are returned instead.
 * @param {import("../types.js").Prediction[]} first
 * @param {import("../types.js").Prediction[]} second
 * @param {number} count  of each model
 * @returns {{label: string, first: number|null, second: number|null}[]}
 *   null: not among the classes that came with the analysis
 */
export function besideEachOther(first, second, count) {
  const labels = new Set([...first.slice(0, count), ...second.slice(0, count)].map(({ label }) => label));
  // If classes have the same name, the most probable counts: it comes first.
  const of = (answers, label) => {
    const found = answers.find((answer) => answer.label === label);
    return found ? (found.probability ?? found.logit) : null;
  };
  return [...labels].map((label) => ({ label, first: of(first, label), second: of(second, label) }));
}
