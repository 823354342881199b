/**
 * Attention rollout (Abnar & Zuidema 2020, arXiv:2005.00928): relevance of every token for one token
 * through several layers.
 */

import { attentionOf } from "./attention.js";

/** @typedef {"mean"|"max"|"min"} Fusion  how the heads of a layer become one matrix */

export const FUSIONS = ["mean", "max", "min"];

/**
 * Compute rows [from, to) of the fused matrices (N, N) of a layer. Several fusions at once cost little more
 * than a single one.
 * @param {import("./attention.js").Layer} layer
 * @param {number} from
 * @param {number} to
 * @param {Partial<Record<Fusion, Float32Array>>} matrices  one for each wanted fusion; written
 */
export function fuseRows(layer, from, to, matrices) {
  const { heads, tokens } = layer;
  const row = new Float32Array(tokens);
  const wanted = FUSIONS.filter((fusion) => Object.hasOwn(matrices, fusion));
  for (let query = from; query < to; query++) {
    const at = query * tokens;
    for (let head = 0; head < heads; head++) {
      attentionOf(layer, head, query, "from", row);
      for (const fusion of wanted) fuseInto(matrices[fusion], at, row, fusion, head === 0);
    }
    if (matrices.mean) for (let j = 0; j < tokens; j++) matrices.mean[at + j] /= heads;
  }
}

function fuseInto(matrix, at, row, fusion, isFirst) {
  const tokens = row.length;
  if (isFirst) matrix.set(row, at);
  else if (fusion === "mean") for (let j = 0; j < tokens; j++) matrix[at + j] += row[j];
  else if (fusion === "max") {
    for (let j = 0; j < tokens; j++) if (row[j] > matrix[at + j]) matrix[at + j] = row[j];
  } else {
    for (let j = 0; j < tokens; j++) if (row[j] < matrix[at + j]) matrix[at + j] = row[j];
  }
}

/**
 * Sums of the rows of a fused matrix: 1 for the mean, but not for max and min.
 * @param {Float32Array} matrix  (N, N)
 * @param {number} tokens
 * @returns {Float32Array}
 */
export function rowSums(matrix, tokens) {
  const sums = new Float32Array(tokens);
  for (let i = 0, at = 0; i < tokens; i++) {
    let sum = 0;
    for (let j = 0; j < tokens; j++, at++) sum += matrix[at];
    sums[i] = sum;
  }
  return sums;
}

/**
 * Relevance of every token for `query`: row `query` of A_last ... A_first, where each layer is
 * residual * I + (1 - residual) * fused, with its rows divided by their sums. Only a vector is
 * carried from the last layer down, so this costs N * N per layer and not N * N * N.
 * @param {{matrix: Float32Array, sums: Float32Array}[]} layers  fused, first layer first
 * @param {number} query
 * @param {number} residual  share of the residual path, 0 to 1
 * @returns {Float32Array}  sums to 1
 */
export function rolloutRow(layers, query, residual) {
  const tokens = layers[0].sums.length;
  let relevance = new Float64Array(tokens);
  relevance[query] = 1;
  for (let at = layers.length - 1; at >= 0; at--) {
    relevance = throughLayer(relevance, layers[at], residual);
  }
  return Float32Array.from(relevance);
}

function throughLayer(relevance, { matrix, sums }, residual) {
  const tokens = sums.length;
  const next = new Float64Array(tokens);
  const mixing = 1 - residual;
  for (let i = 0; i < tokens; i++) {
    if (relevance[i] === 0) continue;
    // With residual 0 and fusion by min a row can be all zeros: its relevance stays with its token.
    const total = residual + mixing * sums[i];
    if (!(total > 0)) {
      next[i] += relevance[i];
      continue;
    }
    const weight = relevance[i] / total;
    next[i] += weight * residual;
    const flow = weight * mixing;
    const at = i * tokens;
    for (let j = 0; j < tokens; j++) next[j] += flow * matrix[at + j];
  }
  return next;
}
