/**
 * Batch: forward and backward pass of a Vision Transformer for many pictures at once. The tokens of all
 * pictures are the rows of one matrix, so that each linear layer is one product; attention goes by picture
 * and head. Unlike engine/backward.js, the forward pass keeps its activations for the backward pass. The last
 * block computes only the tokens that are pooled.
 */

import { anglesOf, turn } from "../engine/angles.js";
import { pack, SCRATCH, up } from "../engine/machine.js";
import { layoutOf } from "./parameters.js";

/**
 * @typedef {import("./parameters.js").Parameter} Parameter
 * @typedef {import("../engine/config.js").Config} Config
 */

/**
 * b: address of the matrix packed for `product`; depth: its stride; cols: size of the output, rounded up;
 * out: size of the output.
 * @typedef {{weight: Parameter, bias: Parameter, b: number, depth: number, cols: number, out: number}} Linear
 * @typedef {{name: string, queries: number, x: number, y: number, qkv: number, scores: number, mixed: number,
 *   middle: number, z: number, before: number, hidden: number,
 *   linear: Record<"qkv"|"proj"|"fc1"|"fc2", Linear>}} Block
 *   queries: number of tokens of each picture in the output
 * @typedef {ReturnType<typeof makeBatch>} Batch
 */

/** Spare rows and columns: kernels write rows in fours and columns in eights. */
const SLACK = 8;
/** Number of rows of a transposed product that fit into a processor's first cache. */
const PIECE = 64;

const four = (count) => (count + 3) & ~3;

/** The settings of a config that this file supports; models with others are refused. */
const KNOWN = {
  mlp: "mlp",
  activation: "gelu",
  dist_token: false,
  norm: "layernorm",
  norm_pre: false,
  final_norm: "before_pool",
  post_norm: false,
  qk_norm: false,
  attn_norm: false,
  mlp_norm: false,
  layer_scale: false,
  relative_bias: false,
  qkv_bias: true,
  proj_bias: true,
  patch_bias: true,
  pool_prefix: false,
};

function check(config) {
  const { embed_dim: dim, head_dim, mlp_hidden_dim: hidden, global_pool: pool, rotary, num_classes } = config;
  for (const [name, value] of Object.entries(KNOWN))
    if (config[name] !== value)
      throw new RangeError("a model with " + name + " " + config[name] + " is not trained in a page");
  if (dim % 8 || hidden % 8 || head_dim % 4 || dim < 16)
    throw new RangeError(
      "a width of " +
        dim +
        " with heads of " +
        head_dim +
        " is not trained in a page: multiples of 8 and 4 are",
    );
  if (!["token", "avg"].includes(pool) || rotary?.kind === "mixed" || num_classes < 2)
    throw new RangeError("such a model is not trained in a page");
}

/**
 * A model with memory for a batch of pictures. f: all memory; p, g, m, v: addresses of the parameters, their
 * gradients, and AdamW's means of gradients and of squares. Throws a RangeError for a model that a page does
 * not train.
 * @param {Config} config
 * @param {number} pictures  largest number in a batch
 * @param {(bytes: number) => import("../engine/kernels.js").Kernels} makeKernels
 */
export function makeBatch(config, pictures, makeKernels) {
  check(config);
  const { embed_dim: D, depth, num_heads: heads, head_dim, mlp_hidden_dim: hidden } = config;
  const { num_tokens: N, num_patches, num_classes, in_chans } = config;
  const [ph, pw] = config.patch_size;
  const layout = layoutOf(config);
  const [keys, pixels, classes] = [up(N), up(in_chans * ph * pw), up(num_classes)];
  let end = SCRATCH;
  const take = (count) => {
    const start = end;
    end += 4 * up(count);
    return start;
  };
  const [p, g, m, v] = [0, 1, 2, 3].map(() => take(layout.size + 64 * SLACK));
  /** @returns {Linear} */
  const linear = (name) => {
    const weight = layout.all[name + ".weight"];
    const cols = up(weight.rows);
    return {
      weight,
      bias: layout.all[name + ".bias"],
      b: take(cols * weight.stride),
      depth: weight.stride,
      cols,
      out: weight.rows,
    };
  };
  const rows = pictures * N + SLACK;
  const queries = config.global_pool === "token" ? 1 : N;
  const blocks = Array.from({ length: depth }, (_, layer) => {
    const name = "blocks." + layer + ".";
    const outputs = layer === depth - 1 ? queries : N;
    const out = pictures * outputs + SLACK;
    return /** @type {Block} */ ({
      name,
      queries: outputs,
      x: take(rows * D),
      y: take(rows * D),
      qkv: take(rows * 3 * D),
      scores: take(pictures * heads * four(outputs) * keys),
      mixed: take(out * (D + SLACK)),
      middle: take(out * D),
      z: take(out * D),
      before: take(out * hidden),
      hidden: take(out * hidden),
      linear: {
        qkv: linear(name + "attn.qkv"),
        proj: linear(name + "attn.proj"),
        fc1: linear(name + "mlp.fc1"),
        fc2: linear(name + "mlp.fc2"),
      },
    });
  });
  const [patch, head] = [linear("patch_embed.proj"), linear("head")];
  const at = {
    patches: take((pictures * num_patches + SLACK) * pixels),
    begin: take(N * D),
    x: take(rows * D),
    y: take(rows * D),
    pooled: take((pictures + SLACK) * D),
    logits: take((pictures + SLACK) * classes),
    dx: take(rows * D),
    dread: take(rows * D),
    dy: take(rows * D),
    dhidden: take(rows * hidden),
    dqkv: take(rows * (3 * D + SLACK)),
    dscores: take(pictures * heads * four(N) * keys),
    dpooled: take((pictures + SLACK) * D),
    dlogits: take((pictures + SLACK) * classes),
    dpatches: take((pictures * num_patches + SLACK) * D),
    keys: take(keys * up(head_dim)),
    stats: take(2 * pictures * heads * four(N)),
    zero: take(keys),
  };
  const kernels = makeKernels(end);
  const f = new Float32Array(kernels.memory);
  return {
    config,
    layout,
    kernels,
    f,
    pictures,
    p,
    g,
    m,
    v,
    blocks,
    patch,
    head,
    at,
    keys,
    pixels,
    classes,
    angles: anglesOf(config),
    numbers: f.subarray(p / 4, p / 4 + layout.size),
    gradients: f.subarray(g / 4, g / 4 + layout.size),
  };
}

/** Pack all matrices again, after they have changed. @param {Batch} m */
export function packAll(m) {
  const { kernels, f, p, layout, at } = m;
  const { embed_dim: D, num_tokens: N, num_prefix_tokens: prefix } = m.config;
  for (const { weight, b, depth, cols } of [
    m.patch,
    m.head,
    ...m.blocks.flatMap(({ linear }) => Object.values(linear)),
  ])
    pack(kernels, p + 4 * weight.at, depth, b, cols, depth);
  // The same for every picture: prefix tokens and positions.
  const begin = at.begin / 4;
  f.fill(0, begin, begin + N * D);
  let row = begin;
  for (const name of ["cls_token", "reg_token"]) {
    const tokens = layout.all[name];
    if (tokens) f.copyWithin(row, p / 4 + tokens.at, p / 4 + tokens.at + tokens.rows * D);
    row += (tokens?.rows ?? 0) * D;
  }
  const positions = layout.all.pos_embed;
  if (!positions) return;
  const first = begin + (positions.rows === N ? 0 : prefix * D);
  for (let i = 0; i < positions.rows * D; i++) f[first + i] += f[p / 4 + positions.at + i];
}

/** Rows with the stride `lda`, times a matrix. */
function times({ kernels, p }, { bias, b, depth, cols }, from, lda, to, rows, add = 0) {
  kernels.product(from, lda, b, p + 4 * bias.at, to, cols, four(rows), depth, cols, add);
}

/**
 * Add the gradients of a matrix and of its bias to those of the parameters, and write the gradient of its
 * input to the address `to`, unless `to` is 0. from: address of the input rows; gradient: address of the
 * gradient at the output.
 */
function timesBack({ kernels, p, g }, { weight, bias, depth, out }, from, lda, gradient, ldg, rows, to = 0) {
  for (let row = 0; row < rows; row += PIECE) {
    kernels.strided(
      gradient + 4 * row * ldg,
      1,
      ldg,
      from + 4 * row * lda,
      lda,
      g + 4 * weight.at,
      depth,
      four(out),
      Math.min(PIECE, rows - row),
      depth,
      1,
    );
  }
  kernels.sums(gradient, ldg, g + 4 * bias.at, rows, four(out));
  if (to) kernels.strided(gradient, ldg, 1, p + 4 * weight.at, depth, to, depth, four(rows), out, depth, 0);
}

function normed({ config, kernels, layout, p }, name, from, to, rows) {
  const { embed_dim: D, norm_eps } = config;
  kernels.norm(
    from,
    to,
    p + 4 * layout.all[name + ".weight"].at,
    p + 4 * layout.all[name + ".bias"].at,
    rows,
    D,
    D,
    norm_eps,
  );
}

/** Gradients of a LayerNorm's weights, and that of its input, added to the numbers at `to`. */
function normedBack({ config, kernels, layout, p, g }, name, from, gradient, to, rows) {
  const { embed_dim: D, norm_eps } = config;
  const [gain, shift] = [layout.all[name + ".weight"].at, layout.all[name + ".bias"].at];
  kernels.normGain(from, gradient, g + 4 * gain, rows, D, D, norm_eps);
  kernels.sums(gradient, D, g + 4 * shift, rows, D);
  kernels.normBack(from, gradient, to, p + 4 * gain, rows, D, D, norm_eps);
}

/** Equation 1: from the patches at `patches` to the tokens of the first block. */
function embed(m, count) {
  const { kernels, at } = m;
  const { embed_dim: D, num_tokens: N, num_patches: P, num_prefix_tokens: prefix } = m.config;
  const [{ x }] = m.blocks;
  for (let picture = 0; picture < count; picture++) {
    // in this order: each product also writes rows behind its last patch
    const first = x + 4 * picture * N * D;
    kernels.move(at.begin, D, first, D, 1, N * D);
    times(m, m.patch, at.patches + 4 * picture * P * m.pixels, m.pixels, first + 4 * prefix * D, P, 1);
  }
}

/**
 * Call `tell` for each picture and head, in order: each head overwrites the spare columns and rows that the
 * head before it wrote.
 */
function eachHead({ config, keys }, { qkv, queries }, count, tell) {
  const { num_tokens: N, num_heads: heads, embed_dim: D, head_dim: d } = config;
  for (let picture = 0; picture < count; picture++) {
    for (let head = 0; head < heads; head++) {
      tell({
        q: qkv + 4 * (picture * N * 3 * D + head * d),
        scores: 4 * (picture * heads + head) * four(queries) * keys,
        row: picture * queries,
        col: head * d,
      });
    }
  }
}

/** Rotary positions: turn q and k of all tokens, or (way -1) turn their gradients back. */
function turnAll({ config, f, angles }, from, stride, count, way) {
  if (!angles) return;
  const { num_tokens: N, num_heads: heads, embed_dim: D, head_dim: d } = config;
  const sizes = { heads, tokens: N, all: N, apart: d, dim: d, stride };
  for (let picture = 0; picture < count; picture++) {
    for (let part = 0; part < 2; part++)
      turn(f, from / 4 + picture * N * stride + part * D, angles, sizes, null, way);
  }
}

/** Equation 2: attention, added to the tokens that the block outputs. */
function attention(m, block, count) {
  const { kernels, at, keys } = m;
  const { embed_dim: D, num_tokens: N, num_heads: heads, head_dim: d } = m.config;
  const { x, y, qkv, scores, mixed, middle, queries, name } = block;
  const [stride, wide] = [3 * D, D + SLACK];
  normed(m, name + "norm1", x, y, count * N);
  times(m, block.linear.qkv, y, D, qkv, count * N);
  turnAll(m, qkv, stride, count, 1);
  eachHead(m, block, count, ({ q, scores: to }) => {
    pack(kernels, q + 4 * D, stride, at.keys, keys, d);
    kernels.product(q, stride, at.keys, at.zero, scores + to, keys, four(queries), d, keys, 0);
  });
  kernels.softmax(scores, count * heads * four(queries), N, keys, d ** -0.5, at.stats);
  eachHead(m, block, count, ({ q, scores: from, row, col }) => {
    kernels.strided(
      scores + from,
      keys,
      1,
      q + 8 * D,
      stride,
      mixed + 4 * (row * wide + col),
      wide,
      four(queries),
      N,
      up(d),
      0,
    );
  });
  kernels.move(x, queries === N ? D : N * D, middle, D, count * queries, D);
  times(m, block.linear.proj, mixed, wide, middle, count * queries, 1);
}

/** Equation 3: the MLP, added to the tokens. The sum is written to `to`. */
function mlp(m, block, count, to) {
  const { kernels } = m;
  const { embed_dim: D, mlp_hidden_dim: hidden } = m.config;
  const rows = count * block.queries;
  normed(m, block.name + "norm2", block.middle, block.z, rows);
  times(m, block.linear.fc1, block.z, D, block.before, rows);
  kernels.move(block.before, hidden, block.hidden, hidden, 1, rows * hidden);
  kernels.gelu(block.hidden, rows * hidden, 0);
  kernels.move(block.middle, D, to, D, 1, rows * D);
  times(m, block.linear.fc2, block.hidden, hidden, to, rows, 1);
}

/** First and last + 1 of the rows of each picture that are averaged: those of the patches, or CLS alone. */
const readOf = ({ global_pool, num_prefix_tokens: prefix, num_tokens: N }) =>
  global_pool === "token" ? [0, 1] : [prefix, N];

/**
 * The logits of pictures, at `logits` with a stride of `classes`, from their patches at `patches`.
 * @param {Batch} m @param {number} count  of pictures
 */
export function forward(m, count) {
  const { config, kernels, f, at, blocks } = m;
  const { embed_dim: D, depth } = config;
  embed(m, count);
  blocks.forEach((block, layer) => {
    attention(m, block, count);
    mlp(m, block, count, layer === depth - 1 ? at.x : blocks[layer + 1].x);
  });
  const { queries } = blocks[depth - 1];
  normed(m, "norm", at.x, at.y, count * queries);
  const [first, last] = readOf(config);
  f.fill(0, at.pooled / 4, at.pooled / 4 + count * D);
  for (let picture = 0; picture < count; picture++)
    kernels.sums(at.y + 4 * (picture * queries + first) * D, D, at.pooled + 4 * picture * D, last - first, D);
  if (last - first > 1) for (let i = at.pooled / 4; i < at.pooled / 4 + count * D; i++) f[i] /= last - first;
  times(m, m.head, at.pooled, D, at.logits, count);
}

/** Gradient of the tokens after the last block, at `to`, from that of the logits. */
function headBack(m, count, to) {
  const { config, kernels, f, at, blocks, classes } = m;
  const { embed_dim: D, depth } = config;
  const { queries } = blocks[depth - 1];
  timesBack(m, m.head, at.pooled, D, at.dlogits, classes, count, at.dpooled);
  const [first, last] = readOf(config);
  if (last - first > 1)
    for (let i = at.dpooled / 4; i < at.dpooled / 4 + count * D; i++) f[i] /= last - first;
  for (const part of [at.dy, to]) f.fill(0, part / 4, part / 4 + count * queries * D);
  for (let row = first; row < last; row++)
    kernels.move(at.dpooled, D, at.dy + 4 * row * D, queries * D, count, D);
  normedBack(m, "norm", at.x, at.dy, to, count * queries);
}

/** Turn the gradient at `d` of the tokens after a block into that between attention and MLP. */
function mlpBack(m, block, count, d) {
  const { kernels, at } = m;
  const { embed_dim: D, mlp_hidden_dim: hidden } = m.config;
  const rows = count * block.queries;
  timesBack(m, block.linear.fc2, block.hidden, hidden, d, D, rows, at.dhidden);
  kernels.gelu(block.before, rows * hidden, at.dhidden);
  timesBack(m, block.linear.fc1, block.z, D, at.dhidden, hidden, rows, at.dy);
  normedBack(m, block.name + "norm2", block.middle, at.dy, d, rows);
}

/** Gradients of q, k and v, at `dqkv`, from that of the heads' output, at `dy`. */
function gatherBack(m, block, count) {
  const { kernels, f, at, keys } = m;
  const { embed_dim: D, num_tokens: N, num_heads: heads, head_dim: d } = m.config;
  const { scores, queries } = block;
  const [stride, wide, rows] = [3 * D, 3 * D + SLACK, four(queries)];
  eachHead(m, block, count, ({ q, scores: to, row, col }) => {
    pack(kernels, q + 8 * D, stride, at.keys, keys, d);
    kernels.product(
      at.dy + 4 * (row * D + col),
      D,
      at.keys,
      at.zero,
      at.dscores + to,
      keys,
      rows,
      d,
      keys,
      0,
    );
  });
  kernels.softmaxBack(scores, at.dscores, count * heads * rows, keys, d ** -0.5);
  if (queries < N) {
    // rows without an output have no gradient
    f.fill(0, at.dqkv / 4, at.dqkv / 4 + count * N * wide);
    for (let block = 0; block < count * heads; block++)
      f.fill(0, at.dscores / 4 + (block * rows + queries) * keys, at.dscores / 4 + (block + 1) * rows * keys);
  }
  const placeOf = (row, col) => at.dqkv + 4 * ((row / queries) * N * wide + col);
  for (let picture = 0; picture < count; picture++) {
    const of = { ...block, qkv: block.qkv + 4 * picture * N * stride };
    const parts = [
      ({ q, scores: from, row, col }) =>
        kernels.strided(
          at.dscores + from,
          keys,
          1,
          q + 4 * D,
          stride,
          placeOf(row, col),
          wide,
          rows,
          N,
          up(d),
          0,
        ),
      ({ q, scores: from, row, col }) =>
        kernels.strided(
          at.dscores + from,
          1,
          keys,
          q,
          stride,
          placeOf(row, D + col),
          wide,
          four(N),
          queries,
          up(d),
          0,
        ),
      ({ scores: from, row, col }) =>
        kernels.strided(
          scores + from,
          1,
          keys,
          at.dy + 4 * (row * D + col),
          D,
          placeOf(row, 2 * D + col),
          wide,
          four(N),
          queries,
          up(d),
          0,
        ),
    ];
    for (const part of parts) {
      eachHead(m, of, 1, (place) =>
        part({ ...place, scores: place.scores + 4 * picture * heads * rows * keys, row: picture * queries }),
      );
    }
  }
}

/** Gradient of the tokens before a block, at `dx`, from that between attention and MLP, at `d`. */
function attentionBack(m, block, count, d) {
  const { kernels, f, at } = m;
  const { embed_dim: D, num_tokens: N } = m.config;
  const { queries } = block;
  timesBack(m, block.linear.proj, block.mixed, D + SLACK, d, D, count * queries, at.dy);
  gatherBack(m, block, count);
  turnAll(m, at.dqkv, 3 * D + SLACK, count, -1);
  timesBack(m, block.linear.qkv, block.y, D, at.dqkv, 3 * D + SLACK, count * N, at.dy);
  if (queries < N) {
    f.fill(0, at.dx / 4, at.dx / 4 + count * N * D);
    kernels.move(d, D, at.dx, N * D, count, D);
  }
  normedBack(m, block.name + "norm1", block.x, at.dy, at.dx, count * N);
}

/** Gradients of the learned tokens, the positions and the patch embedding. */
function embedBack(m, count) {
  const { kernels, at, layout, g } = m;
  const { embed_dim: D, num_tokens: N, num_patches: P, num_prefix_tokens: prefix } = m.config;
  let row = 0;
  for (const name of ["cls_token", "reg_token"]) {
    const tokens = layout.all[name];
    if (tokens) kernels.sums(at.dx + 4 * row * D, N * D, g + 4 * tokens.at, count, tokens.rows * D);
    row += tokens?.rows ?? 0;
  }
  const positions = layout.all.pos_embed;
  if (positions)
    kernels.sums(
      at.dx + 4 * (N - positions.rows) * D,
      N * D,
      g + 4 * positions.at,
      count,
      positions.rows * D,
    );
  kernels.move(at.dx + 4 * prefix * D, N * D, at.dpatches, P * D, count, P * D);
  timesBack(m, m.patch, at.patches, m.pixels, at.dpatches, D, count * P);
}

/**
 * Gradients of all parameters, in `gradients`, from that of the logits, at `dlogits`. Call it after `forward`
 * of the same pictures.
 * @param {Batch} m @param {number} count  of pictures
 */
export function backward(m, count) {
  const { at, blocks } = m;
  const { depth, num_tokens: N } = m.config;
  m.gradients.fill(0);
  const gradientOf = (layer) => (blocks[layer].queries < N ? at.dread : at.dx);
  headBack(m, count, gradientOf(depth - 1));
  for (let layer = depth - 1; layer >= 0; layer--) {
    mlpBack(m, blocks[layer], count, gradientOf(layer));
    attentionBack(m, blocks[layer], count, gradientOf(layer));
  }
  embedBack(m, count);
}
