/** Attention maps out of q and k: one row or one column at a time, for every head. */

import { expectTensor, parseSafetensors, toFloat32 } from "./safetensors.js";

/**
 * One layer as the viewer keeps it; attention[h, i, j] = exp(scale * q[h, i].k[h, j] - lse[h, i]).
 * @typedef {{q: Float32Array, k: Float32Array, lse: Float32Array,
 *   heads: number, tokens: number, dim: number, scale: number}} Layer
 * @typedef {"from"|"to"} Direction  from: the token is the query; to: it is the key
 */

/**
 * A layer file decoded once, so that drawing never meets a 16-bit number.
 * @param {ArrayBuffer} buffer
 * @param {{num_heads: number, num_tokens: number, head_dim: number, scale: number}} manifest
 * @returns {Layer}
 */
export function decodeLayer(buffer, manifest) {
  const { num_heads: heads, num_tokens: tokens, head_dim: dim, scale } = manifest;
  const tensors = parseSafetensors(buffer);
  return {
    q: toFloat32(expectTensor(tensors, "q", [heads, tokens, dim])),
    k: toFloat32(expectTensor(tensors, "k", [heads, tokens, dim])),
    lse: toFloat32(expectTensor(tensors, "lse", [heads, tokens])),
    heads, tokens, dim, scale,
  };
}

/** a[i ...] . b[j ...] over `dim` numbers; four sums at once keep the multiplier busy. */
export function dot(a, i, b, j, dim) {
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  const whole = dim - (dim % 4);
  let d = 0;
  for (; d < whole; d += 4) {
    s0 += a[i + d] * b[j + d];
    s1 += a[i + d + 1] * b[j + d + 1];
    s2 += a[i + d + 2] * b[j + d + 2];
    s3 += a[i + d + 3] * b[j + d + 3];
  }
  for (; d < dim; d++) s0 += a[i + d] * b[j + d];
  return s0 + s1 + s2 + s3;
}

/**
 * What one token of one head attends to: N numbers that sum to 1, written to out[offset ...].
 * @param {Layer} layer
 * @param {number} head
 * @param {number} token
 * @param {Float32Array} out
 * @param {number} offset
 */
export function attentionFrom(layer, head, token, out, offset = 0) {
  const { q, k, lse, tokens, dim, scale } = layer;
  const query = (head * tokens + token) * dim;
  const normaliser = lse[head * tokens + token];
  let key = head * tokens * dim;
  for (let j = 0; j < tokens; j++, key += dim) {
    out[offset + j] = Math.exp(scale * dot(q, query, k, key, dim) - normaliser);
  }
}

/**
 * How much each token of one head attends to this one: a column, which need not sum to 1.
 * @param {Layer} layer
 * @param {number} head
 * @param {number} token
 * @param {Float32Array} out
 * @param {number} offset
 */
export function attentionTo(layer, head, token, out, offset = 0) {
  const { q, k, lse, tokens, dim, scale } = layer;
  const key = (head * tokens + token) * dim;
  const first = head * tokens;
  let query = first * dim;
  for (let i = 0; i < tokens; i++, query += dim) {
    out[offset + i] = Math.exp(scale * dot(q, query, k, key, dim) - lse[first + i]);
  }
}

/**
 * The maps of all heads for one token, head after head. (H * N)
 * @param {Layer} layer
 * @param {number} token
 * @param {Direction} direction
 * @returns {Float32Array}
 */
export function attentionRows(layer, token, direction) {
  const { heads, tokens } = layer;
  const write = direction === "to" ? attentionTo : attentionFrom;
  const rows = new Float32Array(heads * tokens);
  for (let head = 0; head < heads; head++) write(layer, head, token, rows, head * tokens);
  return rows;
}

/**
 * The mean over the heads. (H * N) -> (N)
 * @param {Float32Array} rows
 * @param {number} heads
 * @returns {Float32Array}
 */
export function meanOfHeads(rows, heads) {
  const tokens = rows.length / heads;
  const mean = new Float32Array(tokens);
  for (let head = 0, at = 0; head < heads; head++) {
    for (let j = 0; j < tokens; j++, at++) mean[j] += rows[at];
  }
  for (let j = 0; j < tokens; j++) mean[j] /= heads;
  return mean;
}

/**
 * How a map divides among the kinds of tokens: the sum over each kind and its share of the total.
 * @param {ArrayLike<number>} map  (N)
 * @param {string[]} prefixTokens
 * @returns {{kind: "cls"|"dist"|"reg"|"patch", sum: number, share: number, count: number}[]}
 */
export function shares(map, prefixTokens) {
  const kinds = new Map();
  let total = 0;
  for (let token = 0; token < map.length; token++) {
    const kind = token < prefixTokens.length ? prefixKind(prefixTokens[token]) : "patch";
    const entry = kinds.get(kind) ?? { kind, sum: 0, share: 0, count: 0 };
    entry.sum += map[token];
    entry.count += 1;
    total += map[token];
    kinds.set(kind, entry);
  }
  const entries = [...kinds.values()];
  for (const entry of entries) entry.share = total > 0 ? entry.sum / total : 0;
  return entries;
}

/**
 * @param {string} name  such as "cls_token" or "reg_token 2"
 * @returns {"cls"|"dist"|"reg"}
 */
export function prefixKind(name) {
  if (name.startsWith("cls")) return "cls";
  if (name.startsWith("dist")) return "dist";
  return "reg";
}

/**
 * The tokens with the largest values, largest first; ties go to the earlier token.
 * @param {ArrayLike<number>} map
 * @param {number} count
 * @returns {number[]}
 */
export function strongest(map, count) {
  const best = [];
  for (let token = 0; token < map.length; token++) {
    if (best.length === count && map[token] <= map[best[count - 1]]) continue;
    let at = best.length;
    while (at > 0 && map[best[at - 1]] < map[token]) at--;
    best.splice(at, 0, token);
    if (best.length > count) best.pop();
  }
  return best;
}
