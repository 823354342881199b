/** One attention value in detail: its query, its key, and the softmax over its row. */

import { scoresOf, softmaxOf } from "./attention.js";

/**
 * @typedef {{q: Float32Array, k: Float32Array, products: Float64Array, sum: number, scale: number,
 *   bias: number|null, score: number, scores: Float64Array, attention: Float64Array, lse: number,
 *   share: number, cut: boolean}} Pair
 *   scores, attention: of the query with every key (N); lse: the log-sum-exp of the scores without cut edges;
 *   bias: the number that the model adds to the scaled sum, null in a model without a bias;
 *   cut: whether the edge of this pair is cut
 */

/**
 * One value attention[head, query, key], with all numbers that it is computed from.
 * @param {import("./attention.js").Layer} layer
 * @param {number} head
 * @param {number} query  a token
 * @param {number} key  a token
 * @returns {Pair}
 */
export function pairOf(layer, head, query, key) {
  const { tokens, dim, scale, isCut } = layer;
  const first = head * tokens;
  const row = (values, token) => values.subarray((first + token) * dim, (first + token + 1) * dim);
  const [q, k] = [row(layer.q, query), row(layer.k, key)];
  const products = Float64Array.from(q, (value, i) => value * k[i]);
  const lse = layer.lse[first + query];
  const scores = new Float64Array(tokens);
  scoresOf(layer, head, query, "from", scores);
  const attention = scores.slice();
  softmaxOf(layer, head, query, "from", attention);
  const sum = products.reduce((total, value) => total + value, 0);
  return {
    q,
    k,
    products,
    sum,
    scale,
    bias: layer.bias?.(head, query, key) ?? null,
    score: scores[key],
    scores,
    attention,
    lse,
    share: attention[key],
    cut: Boolean(isCut?.(head, query, key)),
  };
}

/**
 * Indices of the terms of the dot product, the largest absolute value first.
 * @param {ArrayLike<number>} products
 * @returns {number[]}
 */
export function bySize(products) {
  const order = [...Array(products.length).keys()];
  return order.sort((a, b) => Math.abs(products[b]) - Math.abs(products[a]) || a - b);
}
