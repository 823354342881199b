/**
 * A Vision Transformer from the pixels to the logits, in the order and with the names of vitviz/model/vit.py.
 * Read it beside that file. Each function works in the memory of a machine, where the tokens lie at `x`: one
 * row each, as long as the stride.
 */

import { turn } from "./angles.js";
import { biasTensors, waysOf } from "./bias.js";
import { pack, up } from "./machine.js";
import { steer } from "./steering.js";
import { LIMITS } from "./tables.js";
import { dot } from "../maths/attention.js";
import { softmax } from "../maths/outputs.js";

/**
 * @typedef {import("./machine.js").Machine} Machine
 * @typedef {import("./machine.js").Linear} Linear
 * @typedef {import("./surgery.js").Surgery} Surgery
 */

/** `count` rows at `from` times a matrix. */
export function linear({ kernels }, from, { b, bias, depth, cols }, to, count, add = 0) {
  kernels.product(from, depth, b, bias, to, cols, (count + 3) & ~3, depth, cols, add);
}

export function normed({ kernels, eps }, from, norm, to, count, stride = up(norm.width)) {
  kernels.norm(from, to, norm.gain, norm.shift, count, norm.width, stride, eps);
}

/** The input of a branch, from the tokens at `x` to `y`: after the branch's norm, but with post-norm as they are. */
export function enter(m, norm, count) {
  const stride = up(m.config.embed_dim);
  if (m.config.post_norm) m.kernels.move(m.at.x, stride, m.at.y, stride, count, stride);
  else normed(m, m.at.x, norm, m.at.y, count);
}

/** Add the projected rows at `from` to the tokens at `x`; with post-norm after the branch's norm. */
function leave(m, from, weights, norm, count) {
  const { config, f, at } = m;
  linear(m, from, weights, config.post_norm ? at.branch : at.x, count, Number(!config.post_norm));
  if (!config.post_norm) return;
  normed(m, at.branch, norm, at.branch, count);
  for (let i = 0; i < count * up(config.embed_dim); i++) f[at.x / 4 + i] += f[at.branch / 4 + i];
}

/** Copy rows of `width` numbers, without their padding. @returns {Float32Array} */
export function taken({ f }, at, count, width, stride = up(width)) {
  if (stride === width) return f.slice(at / 4, at / 4 + count * width);
  const out = new Float32Array(count * width);
  for (let row = 0; row < count; row++)
    out.set(f.subarray(at / 4 + row * stride, at / 4 + row * stride + width), row * width);
  return out;
}

/** Write rows of `width` numbers into memory; the inverse of `taken`. */
export function put({ f }, at, rows, width) {
  for (let row = 0; row * width < rows.length; row++)
    f.set(rows.subarray(row * width, (row + 1) * width), at / 4 + row * up(width));
}

/**
 * Call `tell` for each line of pixels of each patch, with its index in a picture (C, h, w) and in rows of
 * patches.
 */
export function eachLine(config, stride, tell) {
  const { in_chans: channels, rows, cols } = config;
  const [[, width], [ph, pw]] = [config.image_size, config.patch_size];
  for (let patch = 0; patch < rows * cols; patch++) {
    const [top, left] = [Math.floor(patch / cols) * ph, (patch % cols) * pw];
    for (let line = 0; line < channels * ph; line++) {
      const [c, y] = [Math.floor(line / ph), line % ph];
      tell((c * rows * ph + top + y) * width + left, patch * stride + line * pw);
    }
  }
}

/**
 * Equation 1, from the pixels on. (C, h, w) -> (N, D) at `x`
 * @param {Machine} m
 * @param {Float32Array} pixels
 * @param {Surgery} surgery
 * @returns {{content: Float32Array, position: Float32Array}}  (N, F) each, the first numbers of every token
 */
export function embed(m, pixels, surgery) {
  const { config, f, at } = m;
  const { num_prefix_tokens: prefix } = config;
  const [, pw] = config.patch_size;
  eachLine(config, m.patch.depth, (from, to) => f.set(pixels.subarray(from, from + pw), at.patches / 4 + to));
  linear(m, at.patches, m.patch, at.x + 4 * prefix * up(config.embed_dim), config.num_patches);
  return join(m, surgery.positions(m.positions));
}

/** The tokens before the first block: `embed`, then its norm and transplanted tokens. */
export function tokenize(m, pixels, surgery) {
  const { f, at } = m;
  const { num_tokens: tokens, embed_dim: dim } = m.config;
  const embedding = embed(m, pixels, surgery);
  if (m.normPre) normed(m, at.x, m.normPre, at.x, tokens);
  surgery.edit(0, f.subarray(at.x / 4), up(dim));
  return embedding;
}

/** Equation 1, from the patches on: prefix tokens before them, and positions (of all or of patches) added. */
function join(m, positions) {
  const { f, at } = m;
  const { embed_dim: dim, num_tokens: tokens } = m.config;
  put(m, at.x, m.prefix, dim);
  const count = Math.min(24, dim);
  const content = taken(m, at.x, tokens, count, up(dim));
  const position = new Float32Array(tokens * count);
  const first = positions ? tokens - positions.length / dim : tokens;
  for (let token = first; token < tokens; token++) {
    for (let i = 0; i < dim; i++) {
      const added = /** @type {Float32Array} */ (positions)[(token - first) * dim + i];
      f[at.x / 4 + token * up(dim) + i] += added;
      if (i < count) position[token * count + i] = added;
    }
  }
  return { content, position };
}

/**
 * q, k and v as attention uses them, (H, N, d) each, and lse, the log-sum-exp of the scores of each row, (H,
 * N); bias: what was added to the scores, see `biasTensors`; hidden: the sums of the first hidden units, (N,
 * units), unless the MLP is left out.
 * @typedef {{q: Float32Array, k: Float32Array, v: Float32Array, lse: Float32Array,
 *   bias: ReturnType<typeof biasTensors>, hidden?: Float32Array}} Looked
 */

/** Write numbers (H, N, d) into the memory of the heads. */
export function putHeads(m, at, numbers) {
  const { rows } = m;
  const { num_heads: heads, head_dim: dim } = m.config;
  const size = numbers.length / heads;
  for (let head = 0; head < heads; head++)
    put(m, at + 4 * head * rows * up(dim), numbers.subarray(head * size, (head + 1) * size), dim);
}

/** Project the tokens at `y` to q, k and v, before their norms and rotary positions. */
export function ask(m, { qkv }, tokens) {
  const { kernels, at, rows } = m;
  const { num_heads: heads, head_dim: dim } = m.config;
  linear(m, at.y, qkv, at.qkv, tokens);
  for (let part = 0; part < 3 * heads; part++) {
    const head = 4 * (part % heads) * rows * up(dim);
    kernels.move(
      at.qkv + 4 * part * dim,
      qkv.cols,
      [at.q, at.k, at.v][Math.floor(part / heads)] + head,
      up(dim),
      tokens,
      dim,
    );
  }
}

/** Add the relative bias of a head to its `scores`, which `softmax` scales. */
function addBias(m, layer, head, surgery, count) {
  const way = waysOf(m, layer, surgery);
  if (!way) return;
  const { num_heads: heads, head_dim: dim } = m.config;
  const { table } = m.blocks[layer].bias;
  const [tokens, root] = [countOf(m, surgery), Math.sqrt(dim)];
  for (let query = 0, to = m.at.scores / 4; query < count; query++, to += up(tokens)) {
    if (way(query, 0) < 0) continue;
    for (let key = 0; key < tokens; key++) m.f[to + key] += root * table[way(query, key) * heads + head];
  }
}

/** The attention of a head, from q and k to `scores`. (`count` rows) */
export function weigh(m, layer, head, surgery, count) {
  const { kernels, f, at, rows } = m;
  const { head_dim: dim } = m.config;
  const [tokens, stride] = [countOf(m, surgery), up(dim)];
  const [four, keys, offset] = [(count + 3) & ~3, up(tokens), 4 * head * rows * stride];
  pack(kernels, at.k + offset, stride, at.keys, keys, stride);
  kernels.product(at.q + offset, stride, at.keys, at.zero, at.scores, keys, four, stride, keys, 0);
  addBias(m, layer, head, surgery, count);
  surgery.cut(layer, head, f.subarray(at.scores / 4), keys, count, -Infinity);
  kernels.softmax(at.scores, four, tokens, keys, dim ** -0.5, at.stats);
  // the kernel's exponentials are never 0, and a row may have no edge left
  surgery.cut(layer, head, f.subarray(at.scores / 4), keys, count, 0);
}

/**
 * The heads' outputs from q, k and v, projected and added to the tokens at `x`.
 * @returns {Float32Array}  the log-sum-exp of the scores of each row, (H, count)
 */
export function gather(m, layer, surgery, count) {
  const { kernels, f, at, rows } = m;
  const { num_heads: heads, head_dim: dim, embed_dim } = m.config;
  const [block, stride, keys, size] = [m.blocks[layer], up(dim), up(countOf(m, surgery)), 4 * rows * up(dim)];
  const lse = new Float32Array(heads * count);
  for (let head = 0; head < heads; head++) {
    weigh(m, layer, head, surgery, count);
    for (let token = 0; token < count; token++)
      lse[head * count + token] = f[at.stats / 4 + 2 * token] + Math.log(f[at.stats / 4 + 2 * token + 1]);
    for (let col = 0; col < stride; col += 8)
      kernels.move(at.v + head * size + 4 * col, stride, at.values + 4 * col * keys, 8, keys, 8);
    kernels.product(
      at.scores,
      keys,
      at.values,
      at.zero,
      at.mixed + head * size,
      stride,
      (count + 3) & ~3,
      keys,
      stride,
      0,
    );
    surgery.headOff(layer, head, f.subarray((at.mixed + head * size) / 4), stride, dim);
    kernels.move(at.mixed + head * size, stride, at.y + 4 * head * dim, up(embed_dim), count, dim);
  }
  if (!surgery.lacks(layer, "attention")) {
    if (block.norm) normed(m, at.y, block.norm, at.y, count);
    leave(m, at.y, block.proj, block.norm1, count);
  }
  return lse;
}

/**
 * Multi-head self-attention of the tokens at `y`, added to those at `x`.
 * @param {Machine} m
 * @param {number} layer
 * @param {Surgery} surgery
 * @param {number} count  number of leading tokens whose output is needed
 * @param {boolean} keeps  whether to return q, k, v and lse
 * @returns {Looked|null}
 */
function attention(m, layer, surgery, count, keeps) {
  const { f, at, rows } = m;
  const { num_heads: heads, head_dim: dim } = m.config;
  const [tokens, block, stride] = [countOf(m, surgery), m.blocks[layer], up(dim)];
  const size = 4 * rows * stride;
  ask(m, block, tokens);
  if (block.qNorm) normed(m, at.q, block.qNorm, at.q, heads * rows, stride);
  if (block.kNorm) normed(m, at.k, block.kNorm, at.k, heads * rows, stride);
  if (block.angles && !surgery.without("rotary off")) {
    for (const part of [at.q, at.k]) turn(f, part / 4, block.angles, turnedOf(m, tokens), surgery.angled);
  }
  for (let head = 0; head < heads; head++)
    surgery.editQueries(layer, f.subarray((at.q + head * size) / 4), stride);
  const lse = gather(m, layer, surgery, count);
  if (!keeps) return null;
  const [q, k, v] = [at.q, at.k, at.v].map((part) => {
    const whole = new Float32Array(heads * tokens * dim);
    for (let head = 0; head < heads; head++)
      whole.set(taken(m, part + head * size, tokens, dim), head * tokens * dim);
    return whole;
  });
  return { q, k, v, lse, bias: biasTensors(m, layer, surgery) };
}

/** Sizes of q and k for `turn`. */
export const turnedOf = ({ config, rows }, tokens) => ({
  heads: config.num_heads,
  tokens,
  all: config.num_tokens,
  apart: rows * up(config.head_dim),
  dim: config.head_dim,
  stride: up(config.head_dim),
});

/**
 * The MLP of equation 3, or a gated one (SwiGLU), of the tokens at `y`, added to those at `x`.
 * @returns {Float32Array}  the sums of the first hidden units before the activation, (count, units)
 */
function mlp(m, { norm2, gate, other, hiddenNorm, fc2 }, count) {
  const { f, at, config } = m;
  linear(m, at.y, gate, at.hidden, count);
  const sums = taken(m, at.hidden, count, Math.min(LIMITS.hidden_units, config.mlp_hidden_dim), gate.cols);
  const numbers = count * gate.cols;
  activate(m, at.hidden, numbers);
  if (other) {
    linear(m, at.y, other, at.other, count);
    for (let i = 0; i < numbers; i++) f[at.hidden / 4 + i] *= f[at.other / 4 + i];
  }
  if (hiddenNorm) normed(m, at.hidden, hiddenNorm, at.hidden, count);
  leave(m, at.hidden, fc2, norm2, count);
  return sums;
}

/** The nonlinearity of `count` numbers, in place. */
export function activate({ config: { activation }, kernels, f }, at, count) {
  if (activation === "gelu") {
    kernels.gelu(at, count, 0);
    return;
  }
  const steep = activation === "quick_gelu" ? 1.702 : 1;
  for (let i = at / 4; i < at / 4 + count; i++) {
    const x = f[i];
    f[i] =
      activation === "gelu_tanh"
        ? 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
        : x / (1 + Math.exp(-steep * x));
  }
}

/**
 * Attention, then MLP, each added to the tokens at `x`. count: number of leading tokens whose output is
 * needed.
 * @returns {Looked|null}
 */
function block(m, layer, surgery, count, keeps) {
  const parts = m.blocks[layer];
  enter(m, parts.norm1, countOf(m, surgery));
  const looked = attention(m, layer, surgery, count, keeps);
  if (!surgery.lacks(layer, "mlp")) {
    enter(m, parts.norm2, count);
    const hidden = mlp(m, parts, count);
    if (looked) looked.hidden = hidden;
  }
  return looked;
}

/**
 * Equations 2 and 3: from the tokens before block `first` to those after the last block, both at `x`.
 * @param {Machine} m
 * @param {number} first
 * @param {Surgery} surgery
 * @param {((layer: number, looked: Looked|null, tokens: Float32Array) => void)|null} keep  called after
 *   each block; null: only the answer is wanted, so the last block computes just the tokens that are pooled
 */
export function encode(m, first, surgery, keep) {
  const { kernels, at } = m;
  const { depth, embed_dim: dim } = m.config;
  const tokens = countOf(m, surgery);
  // The remaining tokens move up, one behind the other.
  if (surgery.isShort)
    surgery.staying.forEach((token, i) =>
      kernels.move(at.x + 4 * token * up(dim), up(dim), at.x + 4 * i * up(dim), up(dim), 1, dim),
    );
  const read = readOf(m, surgery);
  for (let layer = first; layer < depth; layer++) {
    const looked = block(m, layer, surgery, keep || layer < depth - 1 ? tokens : read, keep !== null);
    surgery.edit(layer + 1, m.f.subarray(at.x / 4), up(dim), (change, x, rows) =>
      steer(m, change, x, surgery.present, rows),
    );
    if (keep) keep(layer, looked, taken(m, at.x, tokens, dim));
  }
}

/** Number of leading tokens that the last block must output. */
export function readOf(m, surgery) {
  const { depth, dist_token, global_pool } = m.config;
  return global_pool === "token" && !surgery.meets(depth - 1) ? 1 + Number(dist_token) : countOf(m, surgery);
}

/** Number of tokens in the sequence. */
export const countOf = ({ config }, surgery) =>
  surgery.isShort ? surgery.staying.length : config.num_tokens;

/** The rows that are averaged by mean pooling, or read by attention pooling. */
export const meantOf = ({ config: { pool_prefix, num_prefix_tokens: prefix } }, surgery) =>
  surgery.present.filter((row) => pool_prefix || row >= prefix);

/**
 * Attention pooling of the tokens at `y`: a learned query attends to the tokens that it reads, their values
 * are mixed and projected, and an MLP adds its output to the result. The attention stays at `shares`; the
 * inputs of the matrices stay in memory for the backward pass.
 */
function attentionPool(m, surgery) {
  const { kernels, f, at, rows } = m;
  const { embed_dim: dim, pool_heads: heads } = m.config;
  const { latent, q, kv, proj, norm, gate, hiddenNorm, fc2 } = m.attnPool;
  const [read, d] = [meantOf(m, surgery), dim / heads];
  const [query, shares, gathered] = [at.query, at.shares, at.gathered].map((part) => part / 4);
  linear(m, latent, q, at.query, 1);
  linear(m, at.y, kv, at.qkv, countOf(m, surgery));
  f.fill(0, shares, shares + heads * rows);
  f.fill(0, gathered, gathered + up(dim));
  for (let head = 0; head < heads; head++) {
    const keyOf = (row) => at.qkv / 4 + row * kv.cols + head * d;
    const scores = read.map((row) => dot(f, query + head * d, f, keyOf(row), d));
    softmax(scores, Math.sqrt(d)).forEach((share, i) => {
      f[shares + head * rows + read[i]] = share;
      for (let c = 0; c < d; c++) f[gathered + head * d + c] += share * f[keyOf(read[i]) + dim + c];
    });
  }
  linear(m, at.gathered, proj, at.found, 1);
  normed(m, at.found, norm, at.heard, 1);
  linear(m, at.heard, gate, at.poolBefore, 1);
  kernels.move(at.poolBefore, gate.cols, at.poolHidden, gate.cols, 1, gate.cols);
  activate(m, at.poolHidden, gate.cols);
  if (hiddenNorm) normed(m, at.poolHidden, hiddenNorm, at.poolNormed, 1);
  kernels.move(at.found, up(dim), at.pooled, up(dim), 1, up(dim));
  linear(m, hiddenNorm ? at.poolNormed : at.poolHidden, fc2, at.pooled, 1, 1);
}

/** Attention of the pool's query in the last call of `gist`, (H, N), over all tokens; null for other ways to pool. */
export const poolShares = ({ config, f, at, attnPool, rows }) =>
  attnPool && taken({ f }, at.shares, config.pool_heads, config.num_tokens, rows);

/**
 * Pool the tokens at `y` into `pooled`: one vector for the whole image, or all tokens without pooling.
 * Returns their number.
 */
function pool(m, surgery) {
  const { kernels, f, at } = m;
  const { embed_dim: dim, global_pool, dist_token, pooled_dim } = m.config;
  const [stride, tokens] = [up(dim), countOf(m, surgery)];
  if (m.attnPool) {
    attentionPool(m, surgery);
    return 1;
  }
  if (!global_pool.includes("avg")) {
    const count = global_pool === "token" ? 1 + Number(dist_token) : tokens;
    kernels.move(at.y, stride, at.pooled, stride, count, dim);
    return count;
  }
  const mean = new Float64Array(dim);
  const staying = meantOf(m, surgery);
  for (const token of staying)
    for (let i = 0; i < dim; i++) mean[i] += f[at.y / 4 + token * stride + i] / staying.length;
  if (global_pool === "token_avg") kernels.move(at.y, stride, at.pooled, stride, 1, dim);
  f.set(mean, at.pooled / 4 + pooled_dim - dim);
  return 1;
}

/** Last norm of the tokens at `x`, to `y`, then pooling, to `pooled`. Returns the number of pooled rows. */
export function gist(m, surgery) {
  const { kernels, at } = m;
  const { global_pool, embed_dim } = m.config;
  const count = global_pool === "token" ? 4 : countOf(m, surgery);
  if (m.last) normed(m, at.x, m.last, at.y, count);
  else kernels.move(at.x, up(embed_dim), at.y, up(embed_dim), count, up(embed_dim));
  return pool(m, surgery);
}

/**
 * The last norm, then logits (features without a head) of the tokens at `x`. -> (C), or (N, C) without
 * pooling
 * @param {Machine} m
 * @param {Surgery} surgery
 * @returns {Float32Array}
 */
export function head(m, surgery) {
  const { at } = m;
  const { pooled_dim: width, num_classes, dist_token } = m.config;
  const rows = gist(m, surgery);
  if (m.fcNorm) normed(m, at.pooled, m.fcNorm, at.pooled, rows);
  const answers = (m.heads.length > 0 ? m.heads : [null]).map((weights) => {
    if (weights) linear(m, at.pooled, weights, at.logits, rows);
    return weights ? taken(m, at.logits, rows, num_classes) : taken(m, at.pooled, rows, width);
  });
  if (!dist_token) return answers[0];
  // DeiT: the mean of the logits of both heads, the second of which reads the second token.
  const [first, second] = [answers[0], answers[answers.length - 1]];
  const size = first.length / 2;
  return first.subarray(0, size).map((logit, i) => (logit + second[size + i]) / 2);
}
