/** Measures: statistics of heads and features of tokens, as in vitviz/probe/measure/. */

import { attentionOf, dot } from "./attention.js";
import { quantile } from "./quantile.js";

/**
 * Mean entropy (nats) and mean attention distance (pixels) of each head of a layer, over the tokens that are
 * not removed. (H) each
 * @param {import("./attention.js").Layer} layer
 * @param {import("./geometry.js").Grid} grid
 * @param {number[]} removed  patches
 */
export function headStatistics(layer, { prefix, tokens, cols, patchHeight, patchWidth }, removed) {
  const gone = new Set(removed.map((patch) => prefix + patch));
  const staying = Array.from({ length: tokens }, (_, token) => token).filter((token) => !gone.has(token));
  const place = (token) => [
    Math.floor((token - prefix) / cols) * patchHeight,
    ((token - prefix) % cols) * patchWidth,
  ];
  const row = new Float32Array(tokens);
  const [entropy, distance] = [new Float32Array(layer.heads), new Float32Array(layer.heads)];
  for (let head = 0; head < layer.heads; head++) {
    for (const token of staying) {
      attentionOf(layer, head, token, "from", row);
      entropy[head] -=
        row.reduce((sum, share) => sum + (share > 0 ? share * Math.log(share) : 0), 0) / staying.length;
      if (token < prefix) continue;
      const [y, x] = place(token);
      let [total, far] = [1e-38, 0]; // all attention can lie on prefix tokens
      for (let other = prefix; other < tokens; other++) {
        const [down, across] = place(other);
        total += row[other];
        far += row[other] * Math.hypot(down - y, across - x);
      }
      distance[head] += far / total / staying.filter((other) => other >= prefix).length;
    }
  }
  return { entropy: entropy.map((value) => Math.max(0, value)), distance };
}

/** Norms of rows. (N * D) -> (N) @param {Float32Array} rows @param {number} dim */
export const normsOf = (rows, dim) =>
  Float32Array.from({ length: rows.length / dim }, (_, at) =>
    Math.sqrt(dot(rows, at * dim, rows, at * dim, dim)),
  );

/**
 * Rows after a LayerNorm with this gain and shift, or after RMSNorm, which has no shift. (N * D)
 * @param {Float32Array} rows
 * @param {Float32Array} gain
 * @param {Float32Array|null} shift  null: RMSNorm
 * @param {number} eps
 */
export function normedRows(rows, gain, shift, eps) {
  const dim = gain.length;
  const normed = new Float32Array(rows.length);
  for (let start = 0; start < rows.length; start += dim) {
    const row = rows.subarray(start, start + dim);
    const mean = shift ? row.reduce((sum, value) => sum + value, 0) / dim : 0;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / dim;
    row.forEach((value, i) => {
      normed[start + i] = ((value - mean) / Math.sqrt(variance + eps)) * gain[i] + (shift?.[i] ?? 0);
    });
  }
  return normed;
}

/** Rows scaled to length 1; rows of length 0 stay. (N * D) @param {Float32Array} rows @param {number} dim */
export function unitRowsOf(rows, dim) {
  const norms = normsOf(rows, dim);
  return rows.map((value, at) => value / (norms[Math.floor(at / dim)] || 1));
}

const WIDE = 8; // directions in the iteration, more than three so that the first three converge
const MOST_TURNS = 500;
const SWEEPS = 10; // Jacobi's rotations converge quadratically: fewer suffice for eight directions
const NOISE = 1e-8; // of the length of a vector: what is left of it among others is rounding
const LEAST = 1e-12; // share of the variance below which a direction is ignored
const RANGE = [0.01, 0.99]; // quantiles of the scores at the ends of a colour channel

/**
 * The first three principal components of the patches: directions (3 * D), scores (P * 3), explained shares
 * of the variance (3), range of the colours (2 * 3). The largest number of each direction is positive.
 * @param {Float32Array} patches  (P * D)
 * @param {number} dim
 */
export function principal(patches, dim) {
  const count = patches.length / dim;
  const rows = centred(patches, dim);
  const gram = new Float64Array(count * count);
  for (let at = 0; at < count; at++)
    for (let other = 0; other <= at; other++)
      gram[at * count + other] = gram[other * count + at] = dot(rows, at * dim, rows, other * dim, dim);
  const total = rows.reduce((sum, value) => sum + value * value, 0) || 1;
  const { values, vectors } = largest(gram, count);
  const scores = new Float32Array(count * 3);
  const [explained, range, directions] = [
    new Float32Array(3),
    new Float32Array(6),
    new Float32Array(3 * dim),
  ];
  for (let index = 0; index < Math.min(3, vectors.length) && values[index] > LEAST * total; index++) {
    const direction = new Float64Array(dim);
    for (let at = 0; at < count; at++)
      for (let i = 0; i < dim; i++) direction[i] += vectors[index][at] * rows[at * dim + i];
    const most = direction.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    const length =
      (Math.sqrt(direction.reduce((sum, value) => sum + value * value, 0)) || 1) * (most < 0 ? -1 : 1);
    directions.set(
      direction.map((value) => value / length),
      index * dim,
    );
    for (let at = 0; at < count; at++)
      scores[at * 3 + index] =
        direction.reduce((sum, value, i) => sum + value * rows[at * dim + i], 0) / length;
    explained[index] = Math.max(0, values[index]) / total;
    RANGE.forEach((share, end) => {
      range[end * 3 + index] = quantile(
        scores.filter((_, at) => at % 3 === index),
        share,
      );
    });
  }
  return { scores, explained, range, directions };
}

/** Rows without their mean, in 64 bits. */
function centred(patches, dim) {
  const mean = new Float64Array(dim);
  patches.forEach((value, at) => {
    mean[at % dim] += value / (patches.length / dim);
  });
  return Float64Array.from(patches, (value, at) => value - mean[at % dim]);
}

/**
 * The largest eigenvalues of a symmetric matrix and their vectors, by orthogonal iteration: a few vectors are
 * repeatedly multiplied with the matrix, turned within the space that they span, and made orthogonal. Without
 * the turn two directions whose eigenvalues lie within a percent stayed mixed (Rayleigh-Ritz, Golub and Van
 * Loan, Matrix Computations, 8.2.4).
 * @param {Float64Array} matrix  (n * n), positive semidefinite
 * @param {number} n
 */
function largest(matrix, n) {
  let vectors = orthonormal(
    Array.from({ length: Math.min(WIDE, n) }, (_, index) =>
      Float64Array.from({ length: n }, (_, at) => Math.cos((index + 1) * (at + 0.5) * (index + 2.7))),
    ),
  );
  let values = /** @type {number[]} */ ([]);
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const before = values;
    const made = vectors.map((vector) =>
      Float64Array.from({ length: n }, (_, row) => dot(matrix, row * n, vector, 0, n)),
    );
    const small = made.map((one) => vectors.map((other) => dot(one, 0, other, 0, n)));
    const found = rotated(small);
    values = found.map(({ value }) => value);
    vectors = orthonormal(
      found.map(({ weights }) =>
        Float64Array.from({ length: n }, (_, at) =>
          made.reduce((sum, one, index) => sum + weights[index] * one[at], 0),
        ),
      ),
    );
    if (values.slice(0, 3).every((value, at) => Math.abs(value - before[at]) <= 1e-14 * values[0])) break;
  }
  return { values, vectors };
}

/**
 * Vectors of length 1, each at right angles to those before it; 0 for one that adds no direction of its own.
 * @param {Float64Array[]} vectors
 */
function orthonormal(vectors) {
  /** @type {Float64Array[]} */
  const found = [];
  for (const vector of vectors) {
    const made = vector.slice();
    for (const other of [...found, ...found]) {
      const along = dot(made, 0, other, 0, made.length);
      for (let at = 0; at < made.length; at++) made[at] -= along * other[at];
    }
    const [before, after] = [vector, made].map((one) => Math.sqrt(dot(one, 0, one, 0, one.length)));
    found.push(made.map((value) => (after > NOISE * before ? value / after : 0)));
  }
  return found;
}

/**
 * All eigenvalues of a small symmetric matrix, largest first, with their vectors, by Jacobi's rotations.
 * @param {number[][]} matrix  which is changed
 */
function rotated(matrix) {
  const size = matrix.length;
  const vectors = matrix.map((_, row) => matrix.map((_, col) => Number(row === col)));
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) {
        if (matrix[p][q] === 0) continue;
        const angle = Math.atan2(2 * matrix[p][q], matrix[q][q] - matrix[p][p]) / 2;
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        const turn = (/** @type {number[]} */ row) => {
          [row[p], row[q]] = [cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]];
        };
        matrix.forEach(turn);
        vectors.forEach(turn);
        const [first, second] = [matrix[p], matrix[q]];
        matrix[p] = first.map((value, at) => cos * value - sin * second[at]);
        matrix[q] = first.map((value, at) => sin * value + cos * second[at]);
      }
  return vectors
    .map((_, at) => ({ value: matrix[at][at], weights: vectors.map((row) => row[at]) }))
    .sort((one, other) => other.value - one.value);
}
