/**
 * Backward: gradients of a function of the logits, by backpropagation. The functions are those of vit.js in
 * reverse order, each with `Back` behind its name. The forward pass records nothing for it: every block is
 * recomputed from the tokens before it and from q, k and v, which a pass has kept. The padding of a
 * gradient's rows holds arbitrary numbers.
 */

import { turn } from "./angles.js";
import { waysOf } from "./bias.js";
import { pack, up } from "./machine.js";
import {
  activate,
  ask,
  countOf,
  eachLine,
  embed,
  enter,
  gather,
  gist,
  linear,
  meantOf,
  normed,
  poolShares,
  put,
  putHeads,
  readOf,
  taken,
  turnedOf,
  weigh,
} from "./vit.js";
import { dot } from "../maths/attention.js";

/** @typedef {import("./machine.js").Machine} Machine @typedef {import("./surgery.js").Surgery} Surgery */

/**
 * Gradients that a caller wants. The functions are called layer after layer from the last one on; the arrays
 * that they get are not kept.
 * map      called for each head: its attention and the gradient of it, as indices in `f` with a stride
 *          between rows; rows: number of queries
 * pool     called before all others in a model with attention pooling: its attention and the gradient of it, (H,
 *          N) each
 * asking   called for each layer: gradient at the input of its attention, (N, D)
 * tokens   called for each layer: gradient at the tokens before it, (N, D); once more, with layer L, for the
 *          tokens after the last one
 * weights  arrays to which the gradients of the weights are added, by parameter name; the page wants none, and
 *          tests hold learn/batch.js to them
 * first    the layer at which the way back ends; left out: at the pixels
 * @typedef {{
 *   map?: (layer: number, head: number, f: Float32Array,
 *     at: {attention: number, gradient: number, stride: number, rows: number}) => void,
 *   pool?: (shares: Float32Array, gradient: Float32Array) => void,
 *   asking?: (layer: number, gradient: Float32Array) => void,
 *   tokens?: (layer: number, gradient: Float32Array) => void,
 *   weights?: Record<string, Float32Array>, first?: number,
 * }} Wants
 */

/** Add to the gradient of a weight, if it is wanted. */
function addTo(weights, name, numbers, first = 0) {
  const sum = weights[name];
  if (sum)
    numbers.forEach((number, i) => {
      sum[first + i] += number;
    });
}

/**
 * Gradient at the input of a matrix, to `to`, from that at its output, and where they are wanted those of its weights.
 * rows: address of its `count` input rows; add: 1 to add to what is at `to`
 */
function linearBack(m, rows, matrix, gradient, to, count, { weights }, add = 0) {
  const { kernels, at } = m;
  const { b, depth, cols } = matrix;
  if (weights) linearWeights(m, rows, matrix, gradient, count, weights);
  for (let out = 0; out < cols; out += 8) {
    for (let i = 0; i < 8; i++)
      kernels.spread(
        b + 4 * (out * depth + 8 * i),
        64,
        at.matrix + 4 * (8 * out + i),
        8 * cols,
        8,
        depth / 8,
        8,
      );
  }
  kernels.product(gradient, cols, at.matrix, at.zero, to, depth, (count + 3) & ~3, cols, depth, add);
}

/** Gradients of a matrix and its bias. */
function linearWeights(
  { kernels, f, at },
  rows,
  { depth, cols, name, first, out, into, raw },
  gradient,
  count,
  weights,
) {
  kernels.strided(gradient, 1, cols, rows, depth, at.matrix, depth, cols, count, depth, 0);
  const matrix = taken({ f }, at.matrix, out, into, depth);
  const bias = summed({ kernels, f, at }, gradient, cols, count, out);
  if (raw) {
    // the matrix in memory contains the gain of LayerScale
    const gains = new Float32Array(out);
    for (let row = 0; row < out; row++) {
      gains[row] = raw.bias ? bias[row] * raw.bias[row] : 0;
      for (let i = row * into; i < (row + 1) * into; i++) {
        gains[row] += matrix[i] * raw.weight[i];
        matrix[i] *= raw.gain[row];
      }
      bias[row] *= raw.gain[row];
    }
    addTo(weights, raw.scale, gains);
  }
  addTo(weights, name + ".weight", matrix, first * into);
  addTo(weights, name + ".bias", bias, first);
}

/** Column sums of some rows. */
function summed({ kernels, f, at }, rows, stride, count, width) {
  f.fill(0, at.matrix / 4, at.matrix / 4 + stride);
  kernels.sums(rows, stride, at.matrix, count, stride);
  return f.slice(at.matrix / 4, at.matrix / 4 + width);
}

/** Gradients of a norm's gain and shift. */
function normWeights({ kernels, f, at, eps }, rows, { name, width }, gradient, count, weights, stride) {
  f.fill(0, at.matrix / 4, at.matrix / 4 + stride);
  kernels.normGain(rows, gradient, at.matrix, count, width, stride, eps);
  addTo(weights, name + ".weight", f.slice(at.matrix / 4, at.matrix / 4 + width));
  addTo(weights, name + ".bias", summed({ kernels, f, at }, gradient, stride, count, width));
}

/**
 * Gradient at the input of a norm, added to the numbers at `to`, and where they are wanted those of its weights.
 * rows: address of its `count` inputs
 */
function normedBack(m, rows, norm, gradient, to, count, { weights }, stride = up(norm.width)) {
  if (weights) normWeights(m, rows, norm, gradient, count, weights, stride);
  m.kernels.normBack(rows, gradient, to, norm.gain, count, norm.width, stride, m.eps);
}

/** `normedBack` in place of the gradient. */
function normedInPlace(m, rows, norm, gradient, count, wants, stride = up(norm.width)) {
  const { kernels, f, at } = m;
  f.fill(0, at.normed / 4, at.normed / 4 + count * stride);
  normedBack(m, rows, norm, gradient, at.normed, count, wants, stride);
  kernels.move(at.normed, stride, gradient, stride, count, stride);
}

/**
 * Address of the gradient at the output of a branch's last matrix, whose `count` input rows are at `from`.
 * This output is added to the tokens, so its gradient is theirs, at `dx`; with post-norm the gradient at `dx`
 * first goes back through the branch's norm.
 */
function leaveBack(m, from, linears, norm, count, wants) {
  const { f, at } = m;
  if (!m.config.post_norm) return at.dx;
  linear(m, from, linears, at.branch, count);
  f.fill(0, at.dbranch / 4, at.dbranch / 4 + count * up(norm.width));
  normedBack(m, at.branch, norm, at.dx, at.dbranch, count, wants);
  return at.dbranch;
}

/** Add a branch's part to the gradients at `dx`, from that at its input, at `dy`. `x` holds the tokens before it. */
function enterBack(m, norm, count, wants) {
  const { config, f, at } = m;
  if (config.post_norm) {
    for (let i = 0; i < count * up(norm.width); i++) f[at.dx / 4 + i] += f[at.dy / 4 + i];
    return;
  }
  normedBack(m, at.x, norm, at.dy, at.dx, count, wants);
}

/** Gradient at the input of the nonlinearity, in place. at: address of its `count` inputs. */
function activateBack({ config: { activation }, kernels, f }, at, gradient, count) {
  if (activation === "gelu") {
    kernels.gelu(at, count, gradient);
    return;
  }
  const steep = activation === "quick_gelu" ? 1.702 : 1;
  const root = Math.sqrt(2 / Math.PI);
  for (let i = 0; i < count; i++) {
    const x = f[at / 4 + i];
    if (activation === "gelu_tanh") {
      const bent = Math.tanh(root * (x + 0.044715 * x ** 3));
      f[gradient / 4 + i] *=
        0.5 * (1 + bent) + 0.5 * x * (1 - bent * bent) * root * (1 + 3 * 0.044715 * x * x);
    } else {
      const share = 1 / (1 + Math.exp(-steep * x));
      f[gradient / 4 + i] *= share + steep * x * share * (1 - share);
    }
  }
}

/** Add the MLP's part to the gradients at `dx`. `x` holds the tokens between attention and MLP. */
function mlpBack(m, { norm2, gate, other, hiddenNorm, fc2 }, count, wants) {
  const { kernels, f, at } = m;
  const numbers = count * gate.cols;
  enter(m, norm2, count);
  linear(m, at.y, gate, at.before, count);
  kernels.move(at.before, gate.cols, at.hidden, gate.cols, count, gate.cols);
  activate(m, at.hidden, numbers);
  if (other) {
    linear(m, at.y, other, at.other, count);
    kernels.move(at.hidden, gate.cols, at.dother, gate.cols, count, gate.cols);
    for (let i = 0; i < numbers; i++) f[at.hidden / 4 + i] *= f[at.other / 4 + i];
  }
  if (hiddenNorm) normed(m, at.hidden, hiddenNorm, at.normed, count);
  const leaving = hiddenNorm ? at.normed : at.hidden;
  const gradient = leaveBack(m, leaving, fc2, norm2, count, wants);
  linearBack(m, leaving, fc2, gradient, at.dhidden, count, wants);
  if (hiddenNorm) normedInPlace(m, at.hidden, hiddenNorm, at.dhidden, count, wants);
  if (other) {
    for (let i = 0; i < numbers; i++) {
      f[at.dother / 4 + i] *= f[at.dhidden / 4 + i];
      f[at.dhidden / 4 + i] *= f[at.other / 4 + i];
    }
  }
  activateBack(m, at.before, at.dhidden, numbers);
  linearBack(m, at.y, gate, at.dhidden, at.dy, count, wants);
  if (other) linearBack(m, at.y, other, at.dother, at.dy, count, wants, 1);
  enterBack(m, norm2, count, wants);
}

/** Write the heads' outputs side by side to `y`, and their gradients, from `dx`, to `dmixed`. */
function gatherBack(m, layer, count, wants) {
  const { kernels, f, at, rows } = m;
  const { num_heads: heads, head_dim: dim, embed_dim } = m.config;
  const [{ norm, norm1, proj }, stride] = [m.blocks[layer], up(dim)];
  for (let head = 0; head < heads; head++)
    kernels.move(
      at.mixed + 4 * head * rows * stride,
      stride,
      at.y + 4 * head * dim,
      up(embed_dim),
      count,
      dim,
    );
  if (norm) normed(m, at.y, norm, at.normed, count);
  const leaving = norm ? at.normed : at.y;
  const gradient = leaveBack(m, leaving, proj, norm1, count, wants);
  linearBack(m, leaving, proj, gradient, at.dy, count, wants);
  if (norm) normedInPlace(m, at.y, norm, at.dy, count, wants);
  for (const part of [at.dmixed, at.dq]) f.fill(0, part / 4, part / 4 + heads * rows * stride);
  for (let head = 0; head < heads; head++)
    kernels.move(
      at.dy + 4 * head * dim,
      up(embed_dim),
      at.dmixed + 4 * head * rows * stride,
      stride,
      count,
      dim,
    );
}

/** Pack the rows as the operand `b` of `product`, in columns of 8 numbers. */
function panels({ kernels, at }, from, stride, rows) {
  for (let col = 0; col < stride; col += 8)
    kernels.move(from + 4 * col, stride, at.values + 4 * col * rows, 8, rows, 8);
}

/** Gradients of a head's q, k and v, to `dq`, `dk` and `dv`, from the gradient of its output in `dmixed`. */
function headBack(m, layer, head, surgery, count, wants) {
  const { kernels, f, at, rows } = m;
  const { head_dim: dim } = m.config;
  const [stride, keys, queries, four] = [up(dim), up(countOf(m, surgery)), up(count), (count + 3) & ~3];
  const [offset, mixed] = [4 * head * rows * stride, at.dmixed / 4 + head * rows * stride];
  surgery.headOff(layer, head, f.subarray(mixed), stride, dim);
  weigh(m, layer, head, surgery, count);
  pack(kernels, at.v + offset, stride, at.keys, keys, stride);
  kernels.product(at.dmixed + offset, stride, at.keys, at.zero, at.dscores, keys, four, stride, keys, 0);
  wants.map?.(layer, head, f, {
    attention: at.scores / 4,
    gradient: at.dscores / 4,
    stride: keys,
    rows: count,
  });
  // Tokens that are removed have no part in a mean, though its gradient is written to their rows too.
  for (const row of surgery.absent) f.fill(0, mixed + row * stride, mixed + (row + 1) * stride);
  kernels.spread(at.scores, keys, at.turned, 1, queries, queries, keys);
  panels(m, at.dmixed + offset, stride, queries);
  kernels.product(at.turned, queries, at.values, at.zero, at.dv + offset, stride, keys, queries, stride, 0);
  kernels.softmaxBack(at.scores, at.dscores, four, keys, dim ** -0.5);
  if (wants.weights) biasWeights(m, layer, head, surgery, count, wants.weights);
  panels(m, at.k + offset, stride, keys);
  kernels.product(at.dscores, keys, at.values, at.zero, at.dq + offset, stride, four, keys, stride, 0);
  f.fill(0, at.dscores / 4 + count * keys, at.dscores / 4 + queries * keys);
  kernels.spread(at.dscores, keys, at.turned, 1, queries, queries, keys);
  panels(m, at.q + offset, stride, queries);
  kernels.product(at.turned, queries, at.values, at.zero, at.dk + offset, stride, keys, queries, stride, 0);
}

/** Gradient of the relative bias of a head, from that of its scores before they were scaled. */
function biasWeights(m, layer, head, surgery, count, weights) {
  const [way, { bias }, tokens] = [waysOf(m, layer, surgery), m.blocks[layer], countOf(m, surgery)];
  if (!way || !weights[bias.name]) return;
  const { num_heads: heads, head_dim: dim } = m.config;
  for (let query = 0, from = m.at.dscores / 4; query < count; query++, from += up(tokens)) {
    if (way(query, 0) < 0) continue;
    for (let key = 0; key < tokens; key++)
      weights[bias.name][way(query, key) * heads + head] += Math.sqrt(dim) * m.f[from + key];
  }
}

/** Gradients of the learned frequencies of rotary positions, (2, H, d / 2). */
function anglesWeights({ config, f, at, rows }, layer, { places }, weights) {
  const { num_heads: heads, head_dim: dim, num_tokens: tokens, num_prefix_tokens: prefix } = config;
  const [half, stride] = [dim / 2, up(dim)];
  const found = new Float32Array(2 * heads * half);
  for (let head = 0; head < heads; head++) {
    for (let token = prefix; token < tokens; token++) {
      for (const [part, gradient] of [
        [at.q, at.dq],
        [at.k, at.dk],
      ]) {
        const [x, d] = [
          part / 4 + (head * rows + token) * stride,
          gradient / 4 + (head * rows + token) * stride,
        ];
        for (let m = 0; m < half; m++) {
          const turned = f[d + half + m] * f[x + m] - f[d + m] * f[x + half + m];
          for (let axis = 0; axis < 2; axis++)
            found[(axis * heads + head) * half + m] += turned * places[axis][token - prefix];
        }
      }
    }
  }
  addTo(weights, "blocks." + layer + ".attn.angles.freqs", found);
}

/** Add attention's part to the gradients at `dx`. `x` holds the tokens before the block. */
function attentionBack(m, layer, surgery, count, wants) {
  const { kernels, f, at, rows } = m;
  const { num_heads: heads, head_dim: dim } = m.config;
  const [block, tokens, stride] = [m.blocks[layer], countOf(m, surgery), up(dim)];
  gatherBack(m, layer, count, wants);
  for (let head = 0; head < heads; head++) headBack(m, layer, head, surgery, count, wants);
  for (let head = 0; head < heads; head++)
    surgery.editQueriesBack(layer, f.subarray(at.dq / 4 + head * rows * stride), stride);
  if (block.angles && !surgery.without("rotary off")) {
    if (wants.weights) anglesWeights(m, layer, block.angles, wants.weights);
    for (const part of [at.dq, at.dk])
      turn(f, part / 4, block.angles, turnedOf(m, tokens), surgery.angled, -1);
  }
  enter(m, block.norm1, tokens);
  if (block.qNorm && block.kNorm) {
    ask(m, block, tokens);
    normedInPlace(m, at.q, block.qNorm, at.dq, heads * rows, wants, stride);
    normedInPlace(m, at.k, block.kNorm, at.dk, heads * rows, wants, stride);
  }
  f.fill(0, at.dqkv / 4, at.dqkv / 4 + rows * block.qkv.cols);
  for (let part = 0; part < 3 * heads; part++) {
    const head = 4 * (part % heads) * rows * stride;
    kernels.move(
      [at.dq, at.dk, at.dv][Math.floor(part / heads)] + head,
      stride,
      at.dqkv + 4 * part * dim,
      block.qkv.cols,
      tokens,
      dim,
    );
  }
  linearBack(m, at.y, block.qkv, at.dqkv, at.dy, tokens, wants);
  wants.asking?.(layer, taken(m, at.dy, tokens, m.config.embed_dim));
  enterBack(m, block.norm1, tokens, wants);
}

/**
 * Turn the gradient of the tokens after a block, at `dx`, into that of the tokens before it. count: number of
 * leading tokens that have a gradient.
 */
function blockBack(m, layer, { tokens, layers }, surgery, count, wants) {
  const { at } = m;
  const { embed_dim: dim } = m.config;
  put(m, at.x, tokens[layer], dim);
  for (const name of ["q", "k", "v"]) putHeads(m, at[name], layers[layer][name]);
  gather(m, layer, surgery, count);
  if (!surgery.lacks(layer, "mlp")) mlpBack(m, m.blocks[layer], count, wants);
  if (surgery.lacks(layer, "attention")) return;
  put(m, at.x, tokens[layer], dim);
  attentionBack(m, layer, surgery, count, wants);
}

/** Gradient of the tokens at `y`, to `dy`, from that of the vector that attention pooling made of them. */
function attentionPoolBack(m, surgery, wants) {
  const { f, at, rows } = m;
  const { embed_dim: dim, num_tokens: tokens, pool_heads: heads } = m.config;
  const { latent, q, kv, proj, norm, gate, hiddenNorm, fc2 } = m.attnPool;
  const [count, d] = [countOf(m, surgery), dim / heads];
  const leaving = hiddenNorm ? at.poolNormed : at.poolHidden;
  linearBack(m, leaving, fc2, at.dpooled, at.dpoolHidden, 1, wants);
  if (hiddenNorm) normedInPlace(m, at.poolHidden, hiddenNorm, at.dpoolHidden, 1, wants);
  activateBack(m, at.poolBefore, at.dpoolHidden, gate.cols);
  linearBack(m, at.heard, gate, at.dpoolHidden, at.dheard, 1, wants);
  normedBack(m, at.found, norm, at.dheard, at.dpooled, 1, wants);
  linearBack(m, at.gathered, proj, at.dpooled, at.dgathered, 1, wants);
  f.fill(0, at.dqkv / 4, at.dqkv / 4 + rows * kv.cols);
  f.fill(0, at.dquery / 4, at.dquery / 4 + up(dim));
  const gradient = new Float32Array(heads * tokens);
  for (let head = 0; head < heads; head++) {
    const [query, dquery, dgathered] = [at.query, at.dquery, at.dgathered].map((part) => part / 4 + head * d);
    const shares = f.subarray(at.shares / 4 + head * rows, at.shares / 4 + head * rows + count);
    const slopes = gradient.subarray(head * tokens, head * tokens + count);
    for (let row = 0; row < count; row++)
      slopes[row] = dot(f, dgathered, f, at.qkv / 4 + row * kv.cols + head * d + dim, d);
    const mean = dot(shares, 0, slopes, 0, count);
    for (let row = 0; row < count; row++) {
      const [key, slope] = [row * kv.cols + head * d, (shares[row] * (slopes[row] - mean)) / Math.sqrt(d)];
      for (let i = key; i < key + d; i++) {
        f[at.dqkv / 4 + i] = slope * f[query + i - key];
        f[at.dqkv / 4 + dim + i] = shares[row] * f[dgathered + i - key];
        f[dquery + i - key] += slope * f[at.qkv / 4 + i];
      }
    }
  }
  wants.pool?.(poolShares(m), gradient);
  linearBack(m, at.y, kv, at.dqkv, at.dy, count, wants);
  if (!wants.weights) return;
  linearBack(m, latent, q, at.dquery, at.dheard, 1, wants);
  addTo(wants.weights, "attn_pool.latent", taken(m, at.dheard, 1, dim));
}

/**
 * Gradient of the tokens, at `dy`, from that of the pooled rows, at `dpooled`. Returns the number of tokens
 * that have a gradient.
 */
function poolBack(m, surgery, rows, wants) {
  const { kernels, f, at } = m;
  const { embed_dim: dim, global_pool, pooled_dim } = m.config;
  const [stride, count] = [up(dim), countOf(m, surgery)];
  f.fill(0, at.dy / 4, at.dy / 4 + m.rows * stride);
  if (m.attnPool) {
    attentionPoolBack(m, surgery, wants);
    return count;
  }
  if (!global_pool.includes("avg")) {
    kernels.move(at.dpooled, stride, at.dy, stride, rows, dim);
    return rows;
  }
  if (global_pool === "token_avg") kernels.move(at.dpooled, stride, at.dy, stride, 1, dim);
  const staying = meantOf(m, surgery);
  for (const row of staying)
    for (let i = 0; i < dim; i++)
      f[at.dy / 4 + row * stride + i] += f[at.dpooled / 4 + pooled_dim - dim + i] / staying.length;
  return count;
}

/** Gradient of the tokens after the last block, at `dx`, from that of the logits. `x` holds these tokens. */
function answerBack(m, surgery, gradient, wants) {
  const { kernels, f, at } = m;
  const { pooled_dim: width, num_classes, dist_token } = m.config;
  const rows = gist(m, surgery);
  const stride = up(width);
  const entering = m.fcNorm ? at.normed : at.pooled;
  if (m.fcNorm) normed(m, at.pooled, m.fcNorm, at.normed, rows);
  f.fill(0, at.dpooled / 4, at.dpooled / 4 + ((rows + 3) & ~3) * stride);
  /** Rows of a head's gradient. DeiT averages two heads, each of which reads a token of its own. */
  const rowsOf = (size, head) => {
    if (!dist_token) return gradient;
    const both = new Float32Array(2 * size);
    for (const row of head === null ? [0, 1] : [head])
      both.set(
        gradient.map((number) => number / 2),
        row * size,
      );
    return both;
  };
  if (m.heads.length === 0) put(m, at.dpooled, rowsOf(width, null), width);
  m.heads.forEach((head, number) => {
    f.fill(0, at.dlogits / 4, at.dlogits / 4 + ((rows + 3) & ~3) * head.cols);
    put(m, at.dlogits, rowsOf(num_classes, number), num_classes);
    linearBack(m, entering, head, at.dlogits, at.dpooled, rows, wants, 1);
  });
  if (m.fcNorm) normedInPlace(m, at.pooled, m.fcNorm, at.dpooled, rows, wants);
  const count = poolBack(m, surgery, rows, wants);
  if (m.last) normedBack(m, at.x, m.last, at.dy, at.dx, count, wants);
  else kernels.move(at.dy, up(m.config.embed_dim), at.dx, up(m.config.embed_dim), count, m.config.embed_dim);
}

/** Gradients of the learned tokens and the positions. */
function embedWeights(m, { places }, weights) {
  const { at } = m;
  const { embed_dim: dim, num_tokens: tokens } = m.config;
  const rows = taken(m, at.dx, tokens, dim);
  let row = 0;
  for (const name of ["cls_token", "dist_token", "reg_token"]) {
    const count = (weights[name]?.length ?? 0) / dim;
    addTo(weights, name, rows.subarray(row * dim, (row + count) * dim));
    row += count;
  }
  const first = tokens - (m.positions?.length ?? 0) / dim;
  for (let token = first; token < tokens; token++)
    addTo(
      weights,
      "pos_embed",
      rows.subarray(token * dim, (token + 1) * dim),
      ((places?.[token] ?? token) - first) * dim,
    );
}

/** Gradient of the pixels, from that of the tokens before the first block, at `dx`. -> (C, h, w) */
function tokenizeBack(m, pixels, surgery, wants) {
  const { config, f, at } = m;
  const { embed_dim: dim, num_tokens: tokens, num_patches: patches, num_prefix_tokens: prefix } = config;
  const [, pw] = config.patch_size;
  if (m.normPre || wants.weights) embed(m, pixels, surgery);
  if (m.normPre) normedInPlace(m, at.x, m.normPre, at.dx, tokens, wants);
  if (wants.weights) embedWeights(m, surgery, wants.weights);
  linearBack(m, at.patches, m.patch, at.dx + 4 * prefix * up(dim), at.dpatches, patches, wants);
  const gradient = new Float32Array(pixels.length);
  eachLine(config, m.patch.depth, (to, from) =>
    gradient.set(f.subarray(at.dpatches / 4 + from, at.dpatches / 4 + from + pw), to),
  );
  return gradient;
}

/**
 * Backpropagate from the gradient of the logits to everything that is wanted.
 * @param {Machine} m
 * @param {{tokens: Float32Array[], layers: import("./vit.js").Looked[]}} pass  tokens and layers that it left
 *   behind
 * @param {Float32Array} pixels  (C, h, w), its input
 * @param {Surgery} surgery  of the pass; must not have shortened the sequence
 * @param {Float32Array} gradient  of the logits, in the shape that `head` returns
 * @param {Wants} [wants]
 * @returns {Float32Array|null}  gradient of the pixels, (C, h, w); null if `wants.first` ends before them
 */
export function backward(m, pass, pixels, surgery, gradient, wants = {}) {
  const { f, at } = m;
  const { depth, embed_dim: dim } = m.config;
  const tokens = countOf(m, surgery);
  const finishLayer = (layer) => {
    wants.tokens?.(layer, taken(m, at.dx, tokens, dim));
    for (const { row } of surgery.transplanted(layer))
      f.fill(0, at.dx / 4 + row * up(dim), at.dx / 4 + (row + 1) * up(dim));
  };
  f.fill(0, at.dx / 4, at.dx / 4 + m.rows * up(dim));
  put(m, at.x, pass.tokens[depth], dim);
  answerBack(m, surgery, gradient, wants);
  finishLayer(depth);
  for (let layer = depth - 1; layer >= (wants.first ?? 0); layer--) {
    blockBack(m, layer, pass, surgery, layer === depth - 1 ? readOf(m, surgery) : tokens, wants);
    finishLayer(layer);
  }
  return wants.first === undefined ? tokenizeBack(m, pixels, surgery, wants) : null;
}
