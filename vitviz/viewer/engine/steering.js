/**
 * Steering: adds the direction of a class to tokens, scaled to the length of a token in that layer. The
 * functions are those of vitviz/probe/intervene/steering.py.
 */

import { up } from "./machine.js";

/**
 * @typedef {import("./machine.js").Machine} Machine
 * @typedef {import("./surgery.js").Named} Named
 */

/**
 * Add the direction of a class times `factor` to some tokens, in place.
 * @param {Machine} m
 * @param {import("./surgery.js").Intervention} change  of the kind `add`
 * @param {Float32Array} x  the tokens, one row each
 * @param {number[]} present  the rows of tokens that are not removed, whose length counts
 * @param {Named[]} rows  the tokens that are steered
 */
export function steer(m, { toward, factor }, x, present, rows) {
  const { embed_dim: dim } = m.config;
  const stride = up(dim);
  const step = factor * lengthOf(x, present, dim);
  const directions = directionsOf(m, toward);
  for (const { token, row } of rows) {
    const direction = directions[readerOf(m.config, token)];
    for (let i = 0; i < dim; i++) x[row * stride + i] += step * direction[i];
  }
}

/** The median of the norms of some rows, the lower of the two in the middle. */
function lengthOf(x, rows, dim) {
  const norms = Float64Array.from(rows, (row) => norm(x.subarray(row * up(dim), row * up(dim) + dim))).sort();
  return norms[(norms.length - 1) >> 1];
}

/** @param {Float32Array} numbers */
const norm = (numbers) => Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0));

/** Directions of a class, of length 1: of each head, or of each half of it. @returns {Float32Array[]} */
function directionsOf(m, toward) {
  const { embed_dim: dim } = m.config;
  return m.heads
    .map((head) => before(m, m.fcNorm, rowOf(m, head, toward)))
    .flatMap((row) => (row.length > dim ? [row.subarray(0, dim), row.subarray(dim)] : [row]))
    .map((row) => before(m, m.last, row))
    .map((row) => {
      const length = Math.max(norm(row), 1e-12);
      return row.map((number) => number / length);
    });
}

/** Index into `directionsOf` for a token: of the part of the head that reads it, by default that of CLS. */
function readerOf({ global_pool, dist_token }, token) {
  if (global_pool === "token_avg") return Number(token > 0);
  return Number(dist_token && token === 1);
}

/** A row of a matrix, out of its packed form. */
function rowOf({ f }, { b, depth, into }, row) {
  const start = b / 4 + (row - (row % 8)) * depth + (row % 8);
  return Float32Array.from({ length: into }, (_, at) => f[start + 8 * at]);
}

/**
 * Weights for tokens before a norm, from weights for tokens after it. They contain the gain of the norm and
 * the mean that it subtracts; its division by the deviation of the token is left out.
 */
function before({ f, config }, last, row) {
  if (!last) return row;
  const weighted = row.map((number, i) => number * f[last.gain / 4 + i]);
  if (config.norm === "rmsnorm") return weighted; // it takes no mean away
  const mean = weighted.reduce((sum, number) => sum + number, 0) / row.length;
  return weighted.map((number) => number - mean);
}
