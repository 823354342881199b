/** Scales: from which to which value a map is drawn. */

import { largest } from "./colour.js";

/**
 * A scale of attention ends at least here, in multiples of uniform attention, so that an even map looks even.
 */
export const LEAST_TIMES = 3;

/** @typedef {{min: number, max: number}} Scale */

/** The scale that covers two scales. @returns {Scale} */
export function spanOf(scale, other) {
  return other ? { min: Math.min(scale.min, other.min), max: Math.max(scale.max, other.max) } : scale;
}

/** A scale for another number of tokens, with the same multiples of uniform attention. @returns {Scale} */
export function perToken({ min, max }, from, to) {
  const times = from.tokens / to.tokens;
  return { min: min * times, max: max * times };
}

/**
 * The least end of a scale of attention or rollout: with the largest value as its end, a map that is
 * nearly even would look as if it said something.
 * @param {number} tokens
 */
export function leastEnd(tokens) {
  return Math.min(1, LEAST_TIMES / tokens);
}

/**
 * From 0 to the largest value of a patch in a map of attention or rollout, and at least to `leastEnd`. Prefix
 * tokens may have larger values: with them in the scale all patches would look black, and their tiles show
 * the numbers.
 * @returns {Scale}
 */
export function patchScale(values, grid) {
  return { min: 0, max: largest(values, grid.prefix, grid.tokens, leastEnd(grid.tokens)) };
}

/** The same for the rows of all heads, one after the other. @returns {Scale} */
export function headsScale(rows, heads, grid) {
  let max = leastEnd(grid.tokens);
  for (let head = 0; head < heads; head++) {
    const start = head * grid.tokens;
    max = largest(rows, start + grid.prefix, start + grid.tokens, max);
  }
  return { min: 0, max };
}

/** From the least to the most similar patch: all tokens of a layer can be very similar. @returns {Scale} */
export function similarityScale(values, { prefix, tokens }) {
  let [min, max] = [1, -1];
  for (let token = prefix; token < tokens; token++) {
    min = Math.min(min, values[token]);
    max = Math.max(max, values[token]);
  }
  return { min, max: Math.max(max, min + 1e-6) };
}
