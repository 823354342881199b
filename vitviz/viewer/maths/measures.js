/** Measures: statistics of heads and features of tokens, as vitviz/probe/measure/ has them. */

import { attentionOf, dot } from "./attention.js";
import { quantile } from "./quantile.js";

/**
 * How widely and how far each head of a layer looks, mean over the tokens that stay: entropy in nats,
 * distance in pixels. (H) each
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
      distance[head] += far / total / staying.filter((one) => one >= prefix).length;
    }
  }
  return { entropy: entropy.map((value) => Math.max(0, value)), distance };
}

/** The lengths of rows. (N * D) -> (N) @param {Float32Array} rows @param {number} dim */
export const normsOf = (rows, dim) =>
  Float32Array.from({ length: rows.length / dim }, (_, at) =>
    Math.sqrt(dot(rows, at * dim, rows, at * dim, dim)),
  );

/**
 * The lengths of rows after a LayerNorm with this gain and shift. (N * D) -> (N)
 * @param {Float32Array} rows
 * @param {Float32Array} gain
 * @param {Float32Array} shift
 * @param {number} eps
 */
export function lengthsOfNormed(rows, gain, shift, eps) {
  const dim = gain.length;
  const normed = new Float32Array(rows.length);
  for (let start = 0; start < rows.length; start += dim) {
    const row = rows.subarray(start, start + dim);
    const mean = row.reduce((sum, value) => sum + value, 0) / dim;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / dim;
    row.forEach((value, i) => {
      normed[start + i] = ((value - mean) / Math.sqrt(variance + eps)) * gain[i] + shift[i];
    });
  }
  return normsOf(normed, dim);
}

/** Rows of length 1; those of length 0 stay. (N * D) @param {Float32Array} rows @param {number} dim */
export function unitRowsOf(rows, dim) {
  const norms = normsOf(rows, dim);
  return rows.map((value, at) => value / (norms[Math.floor(at / dim)] || 1));
}

const WIDE = 8; // directions that are followed, so that the first three are right
const MOST_TURNS = 500;
const LEAST = 1e-12; // share of the variance below which a direction is none
const RANGE = [0.01, 0.99]; // quantiles of the scores that become the ends of a colour

/**
 * The three directions in which patches differ most, (3 * D): scores (P * 3), shares of the variance (3),
 * ends of the colours (2 * 3). The largest number of each direction is positive.
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
  for (let one = 0; one < Math.min(3, vectors.length) && values[one] > LEAST * total; one++) {
    const direction = new Float64Array(dim);
    for (let at = 0; at < count; at++)
      for (let i = 0; i < dim; i++) direction[i] += vectors[one][at] * rows[at * dim + i];
    const most = direction.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    const length =
      (Math.sqrt(direction.reduce((sum, value) => sum + value * value, 0)) || 1) * (most < 0 ? -1 : 1);
    directions.set(
      direction.map((value) => value / length),
      one * dim,
    );
    for (let at = 0; at < count; at++)
      scores[at * 3 + one] =
        direction.reduce((sum, value, i) => sum + value * rows[at * dim + i], 0) / length;
    explained[one] = Math.max(0, values[one]) / total;
    RANGE.forEach((share, end) => {
      range[end * 3 + one] = quantile(
        scores.filter((_, at) => at % 3 === one),
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
 * The largest eigenvalues of a symmetric matrix, and their vectors, by orthogonal iteration: a few directions
 * are multiplied with it again and again, and kept at right angles.
 * @param {Float64Array} matrix  (n * n), none of its eigenvalues below 0
 * @param {number} n
 */
function largest(matrix, n) {
  /** @type {Float64Array[]} */
  let vectors = Array.from({ length: Math.min(WIDE, n) }, (_, one) =>
    Float64Array.from({ length: n }, (_, at) => Math.cos((one + 1) * (at + 0.5) * (one + 2.7))),
  );
  let values = /** @type {number[]} */ ([]);
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const before = values;
    /** @type {Float64Array[]} */
    const next = [];
    values = vectors.map((vector) => {
      const made = new Float64Array(n);
      for (let row = 0; row < n; row++) made[row] = dot(matrix, row * n, vector, 0, n);
      for (const other of next) {
        const along = dot(made, 0, other, 0, n);
        for (let at = 0; at < n; at++) made[at] -= along * other[at];
      }
      const length = Math.sqrt(dot(made, 0, made, 0, n));
      for (let at = 0; at < n; at++) made[at] /= length || 1;
      next.push(made);
      return length;
    });
    vectors = next;
    if (values.slice(0, 3).every((value, at) => Math.abs(value - before[at]) <= 1e-12 * values[0])) break;
  }
  return { values, vectors };
}
