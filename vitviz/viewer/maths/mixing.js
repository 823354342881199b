/** Mixing: the change of a token by attention, from shares and values to the residual sum. */

import { dot, dotRows } from "./attention.js";
import { expectTensor, parseSafetensors, toFloat32 } from "./safetensors.js";

/**
 * One layer, as vitviz/probe/measure/mixing.py describes it; `norms` are those of `normed` there.
 * @typedef {{before: Float32Array, v: Float32Array, out: Float32Array, rest: Float32Array,
 *   gain: Float32Array, norms: Float32Array, hidden: Float32Array, heads: number, tokens: number,
 *   dim: number, width: number}} Mixing
 *   before (N * D), v (H * N * d), out (H * D * d), rest (D or N * D), gain (N), norms (N);
 *   hidden (N * units): the sums of the first hidden units of the MLP, before its activation
 */

/**
 * The change of one token by one head, and by all heads together.
 * @typedef {{mixed: Float32Array, added: Float32Array, change: Float32Array, before: Float32Array,
 *   after: Float32Array, cosine: number, shares: number[]}} Mix
 *   mixed (d): the mix of the head; added, change, before, after (D)
 *   shares: the part of each head in the change, and last of the biases; they sum to 1, or to 0 without a
 *   change
 */

/** @returns {Mixing} */
export function readMixing(buffer, manifest) {
  const { num_heads: heads, num_tokens: tokens, head_dim: dim, embed_dim: width } = manifest.model;
  const tensors = parseSafetensors(buffer);
  const read = (name, ...shape) => toFloat32(expectTensor(tensors, name, shape));
  const each = tensors.rest?.shape[0] === tokens ? tokens : 1;
  const units = tensors.hidden?.shape[1];
  return {
    before: read("before", tokens, width),
    v: read("v", heads, tokens, dim),
    out: read("out", heads, width, dim),
    rest: read("rest", each, width),
    gain: read("gain", tokens),
    norms: read("norms", tokens),
    hidden: read("hidden", tokens, units),
    heads,
    tokens,
    dim,
    width,
  };
}

/** The value of a token in one head. (d) */
export function valueOf({ v, tokens, dim }, head, token) {
  const start = (head * tokens + token) * dim;
  return v.subarray(start, start + dim);
}

/**
 * The change of a token by a head.
 * @param {Mixing} mixing  of the layer
 * @param {Float32Array} rows  attention from the token in every head (H * N)
 * @param {number} head
 * @param {number} token
 * @returns {Mix}
 */
export function mixOf(mixing, rows, head, token) {
  const { heads, tokens, dim, width } = mixing;
  const mixes = new Float32Array(heads * dim);
  for (let h = 0; h < heads; h++) {
    for (let n = 0; n < tokens; n++) {
      const share = rows[h * tokens + n];
      const value = valueOf(mixing, h, n);
      for (let i = 0; i < dim; i++) mixes[h * dim + i] += share * value[i];
    }
  }
  const gain = mixing.gain[token];
  const parts = Array.from({ length: heads }, (_, h) => {
    const part = new Float32Array(width);
    dotRows(mixes, h * dim, mixing.out, h * width * dim, width, dim, part, 0);
    return part.map((value) => gain * value);
  });
  const row = mixing.rest.length > width ? token * width : 0;
  const rest = mixing.rest.subarray(row, row + width);
  const before = mixing.before.subarray(token * width, (token + 1) * width);
  const change = rest.map((value, i) => parts.reduce((sum, part) => sum + part[i], value));
  const added = parts[head];
  const total = dot(change, 0, change, 0, width) || 1; // there may be no change at all
  return {
    mixed: mixes.subarray(head * dim, (head + 1) * dim),
    added,
    change,
    before,
    after: before.map((value, i) => value + change[i]),
    shares: [...parts, rest].map((part) => dot(part, 0, change, 0, width) / total),
    cosine: dot(added, 0, change, 0, width) / (lengthOf(added) * Math.sqrt(total) || 1),
  };
}

/** The length (norm) of a vector. */
export function lengthOf(values) {
  return Math.sqrt(dot(values, 0, values, 0, values.length));
}
