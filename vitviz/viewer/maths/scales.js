/** Scales: the lowest and highest value of a map's colours. */

import { largest } from "./colour.js";

/**
 * Least upper end of a scale of attention, in multiples of uniform attention, so that an even map looks even.
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
 * Least upper end of a scale of attention or rollout. With the largest value as its end, a nearly even map
 * would seem to have structure.
 * @param {number} tokens
 */
export function leastEnd(tokens) {
  return Math.min(1, LEAST_TIMES / tokens);
}

/**
 * The scale from 0 to the largest value of a patch in a map of attention or rollout, and at least to
 * `leastEnd`. Prefix tokens may have larger values, which would make all patches look black; their tiles show
 * numbers.
 * @returns {Scale}
 */
export function patchScale(values, grid) {
  return { min: 0, max: largest(values, grid.prefix, grid.tokens, leastEnd(grid.tokens)) };
}

/** `patchScale` for the maps of all heads together. @returns {Scale} */
export function headsScale(rows, heads, grid) {
  let max = leastEnd(grid.tokens);
  for (let head = 0; head < heads; head++) {
    const start = head * grid.tokens;
    max = largest(rows, start + grid.prefix, start + grid.tokens, max);
  }
  return { min: 0, max };
}

/**
 * The scale from the least to the most similar patch: all tokens of a layer can be similar. @returns {Scale}
 */
export function similarityScale(values, { prefix, tokens }) {
  let [min, max] = [1, -1];
  for (let token = prefix; token < tokens; token++) {
    min = Math.min(min, values[token]);
    max = Math.max(max, values[token]);
  }
  return { min, max: Math.max(max, min + 1e-6) };
}
