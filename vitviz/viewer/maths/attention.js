/** Attention maps from q and k: one row or one column at a time, for every head. */

import { biasOf } from "./bias.js";
import { cutsOf } from "./cuts.js";
import { expectTensor, parseSafetensors, toFloat32 } from "./safetensors.js";

/**
 * A decoded layer; attention[h, i, j] = exp(scale * q[h, i].k[h, j] + bias - lse[h, i]), and 0 where the edge
 * is cut.
 * @typedef {{q: Float32Array, k: Float32Array, lse: Float32Array,
 *   heads: number, tokens: number, dim: number, scale: number, isCut: import("./cuts.js").IsCut|null,
 *   bias: import("./bias.js").Bias|null}} Layer
 * @typedef {"from"|"to"} Direction  from: the token is the query; to: it is the key
 */

/**
 * Decode a layer file from 16-bit to 32-bit floats.
 * @param {ArrayBuffer} buffer
 * @param {any} manifest
 * @param {number} layer  its index
 * @returns {Layer}
 */
export function decodeLayer(buffer, manifest, layer) {
  const { num_heads: heads, num_tokens: tokens, head_dim: dim } = manifest.model;
  const tensors = parseSafetensors(buffer);
  const numbers = {
    q: toFloat32(expectTensor(tensors, "q", [heads, tokens, dim])),
    k: toFloat32(expectTensor(tensors, "k", [heads, tokens, dim])),
    lse: toFloat32(expectTensor(tensors, "lse", [heads, tokens])),
    bias: tensors,
  };
  return layerOf(numbers, manifest.model, cutsOf(manifest, layer));
}

/**
 * A layer from the numbers of its attention.
 * @template {{q: Float32Array, k: Float32Array, lse: Float32Array,
 *   bias: Record<string, import("./safetensors.js").Tensor>}} Numbers  bias: tensors for `biasOf`, among others
 * @param {Numbers} numbers
 * @param {Pick<import("../types.js").Model, "grid"|"num_heads"|"num_tokens"|"head_dim"|"scale">} model
 * @param {import("./cuts.js").IsCut|null} isCut
 * @returns {Omit<Numbers, "bias"> & Layer}
 */
export function layerOf(numbers, model, isCut) {
  const { num_heads: heads, num_tokens: tokens, head_dim: dim, scale } = model;
  return {
    ...numbers,
    heads,
    tokens,
    dim,
    scale,
    isCut,
    bias: biasOf(numbers.bias, /** @type {any} */ ({ model })),
  };
}

/** Dot product of a[i ...] and b[j ...] over `dim` numbers; four sums at once run in parallel. */
export function dot(a, i, b, j, dim) {
  let s0 = 0,
    s1 = 0,
    s2 = 0,
    s3 = 0;
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
 * Dot products of one row of `a` with `count` rows of `b`, four at a time: each number of `a` that is
 * read is used four times, which takes a third less time than one `dot` after another.
 * @param {Float32Array} a
 * @param {number} i  index of the row's first number
 * @param {Float32Array} b
 * @param {number} j  index of the first row's first number
 * @param {number} count
 * @param {number} dim
 * @param {Float32Array|Float64Array} out
 * @param {number} offset
 * @param {number} factor  multiplies each product
 */
export function dotRows(a, i, b, j, count, dim, out, offset, factor = 1) {
  const end = i + dim;
  const fours = count - (count % 4);
  let row = 0;
  for (; row < fours; row += 4, j += 4 * dim) {
    let s0 = 0,
      s1 = 0,
      s2 = 0,
      s3 = 0;
    let j0 = j,
      j1 = j + dim,
      j2 = j + 2 * dim,
      j3 = j + 3 * dim;
    for (let d = i; d < end; d++, j0++, j1++, j2++, j3++) {
      const value = a[d];
      s0 += value * b[j0];
      s1 += value * b[j1];
      s2 += value * b[j2];
      s3 += value * b[j3];
    }
    out[offset + row] = factor * s0;
    out[offset + row + 1] = factor * s1;
    out[offset + row + 2] = factor * s2;
    out[offset + row + 3] = factor * s3;
  }
  for (; row < count; row++, j += dim) out[offset + row] = factor * dot(a, i, b, j, dim);
}

/**
 * The scores of a token in one head, scale * q . k + bias, written to out[offset ...]: "from" it, its query
 * with every key; "to" it, every query with its key. Cut edges have scores, too. (N)
 * @param {Layer} layer
 * @param {number} head
 * @param {number} token
 * @param {Direction} direction
 * @param {Float32Array|Float64Array} out
 * @param {number} offset
 */
export function scoresOf({ q, k, tokens, dim, scale, bias }, head, token, direction, out, offset = 0) {
  const first = head * tokens;
  const from = direction === "from";
  dotRows(from ? q : k, (first + token) * dim, from ? k : q, first * dim, tokens, dim, out, offset, scale);
  if (!bias) return;
  for (let at = 0; at < tokens; at++)
    out[offset + at] += from ? bias(head, token, at) : bias(head, at, token);
}

/**
 * Attention from the scores at out[offset ...], in place: exp(score - lse), and 0 where the edge is cut. The
 * arguments are those of `scoresOf`, which wrote the scores.
 */
export function softmaxOf({ lse, tokens, isCut }, head, token, direction, out, offset = 0) {
  const first = head * tokens;
  const from = direction === "from";
  for (let at = 0; at < tokens; at++) {
    const cut = isCut && (from ? isCut(head, token, at) : isCut(head, at, token));
    out[offset + at] = cut ? 0 : Math.exp(out[offset + at] - lse[first + (from ? token : at)]);
  }
}

/**
 * Attention in one head, written to out[offset ...]: "from" a token, what it attends to, which sums to 1;
 * "to" it, how much each token attends to it. (N)
 * @param {Layer} layer
 * @param {number} head
 * @param {number} token
 * @param {Direction} direction
 * @param {Float32Array} out
 * @param {number} offset
 */
export function attentionOf(layer, head, token, direction, out, offset = 0) {
  scoresOf(layer, head, token, direction, out, offset);
  softmaxOf(layer, head, token, direction, out, offset);
}

/**
 * The maps of a token in all heads. (H * N)
 * @param {Layer} layer
 * @param {number} token
 * @param {Direction} direction
 * @returns {Float32Array}
 */
export function attentionRows(layer, token, direction) {
  const { heads, tokens } = layer;
  const rows = new Float32Array(heads * tokens);
  for (let head = 0; head < heads; head++) attentionOf(layer, head, token, direction, rows, head * tokens);
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
 * @returns {{kind: "cls"|"dist"|"reg"|"patch", sum: number, share: number}[]}
 */
export function shares(map, prefixTokens) {
  const kinds = new Map();
  let total = 0;
  for (let token = 0; token < map.length; token++) {
    const kind = token < prefixTokens.length ? prefixKind(prefixTokens[token]) : "patch";
    const entry = kinds.get(kind) ?? { kind, sum: 0, share: 0 };
    entry.sum += map[token];
    total += map[token];
    kinds.set(kind, entry);
  }
  const entries = [...kinds.values()];
  for (const entry of entries) entry.share = total > 0 ? entry.sum / total : 0;
  return entries;
}

/**
 * The overlap of two maps, each scaled to sum to 1: the sum of the smaller values, which is one minus
 * their total variation distance. 1 for equal maps, 0 for maps without a common token.
 * @param {ArrayLike<number>} a  (N), no negative numbers
 * @param {ArrayLike<number>} b  (N)
 * @returns {number}
 */
export function overlap(a, b) {
  let [sumA, sumB] = [0, 0];
  for (let token = 0; token < a.length; token++) {
    sumA += a[token];
    sumB += b[token];
  }
  if (!(sumA > 0 && sumB > 0)) return 0;
  let common = 0;
  for (let token = 0; token < a.length; token++) common += Math.min(a[token] / sumA, b[token] / sumB);
  return common;
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
 * Number of the largest values that make up half of the sum of all.
 * @param {ArrayLike<number>} values  none below 0
 */
export function holdingHalf(values) {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.reduce((sum, value) => sum + value, 0) / 2;
  let [count, held] = [0, 0];
  while (count < sorted.length && held < half) held += sorted[sorted.length - ++count];
  return count;
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
