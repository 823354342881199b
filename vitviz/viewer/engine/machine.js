/** Machine: a model in the memory of the kernels, its matrices packed, with room for one pass. */

import { joined } from "../maths/safetensors.js";
import { anglesOf } from "./angles.js";

/** Rounded up to a multiple of 8, which all strides are. @param {number} count */
export const up = (count) => (count + 7) & ~7;

/** Address of the first number; the kernels use the memory below it themselves. */
export const SCRATCH = 2048;

/**
 * A matrix with its bias. b, bias: their addresses; depth, cols: sizes of its input and output, rounded up;
 * name: of its parameters, of which it holds `out` rows of `into` numbers, from row `first` on; raw: the
 * parameters before they were multiplied with the gain of LayerScale
 * @typedef {{b: number, bias: number, depth: number, cols: number, name: string, first: number, out: number,
 *   into: number,
 *   raw: {weight: Float32Array, bias: Float32Array|undefined, gain: Float32Array, scale: string}|null}}
 *     Linear
 * @typedef {{gain: number, shift: number, width: number, name: string}} Norm
 * @typedef {{norm1: Norm, qkv: Linear, qNorm: Norm|null, kNorm: Norm|null,
 *   angles: import("./angles.js").Angles|null, bias: {name: string, table: Float32Array}|null,
 *   norm: Norm|null, proj: Linear,
 *   norm2: Norm, gate: Linear, other: Linear|null, hiddenNorm: Norm|null, fc2: Linear}} BlockWeights
 * @typedef {{config: import("./config.js").Config, kernels: import("./kernels.js").Kernels, f: Float32Array,
 *   preprocess: any,
 *   patch: Linear, blocks: BlockWeights[], normPre: Norm|null, last: Norm|null, fcNorm: Norm|null,
 *   heads: Linear[], attnPool: AttentionPool|null,
 *   prefix: Float32Array, positions: Float32Array|null, filters: Float32Array, filterBias: Float32Array,
 *   rows: number, eps: number, at: Record<string, number>}} Machine
 *   at: addresses of the parts of a pass, by name, and from `dx` on of its gradients; rows: number of tokens,
 *   rounded up; eps: of the norms, negative for RMSNorm
 */

/**
 * Weights of attention pooling. latent: address of its learned query
 * @typedef {{latent: number, q: Linear, kv: Linear, proj: Linear, norm: Norm, gate: Linear, hiddenNorm: Norm|null,
 *   fc2: Linear}} AttentionPool
 */

/**
 * Pack rows (a multiple of 8) as the operand `b` of `product`, transposed: for each 8 rows their first
 * numbers, then their second ...
 * @param {import("./kernels.js").Kernels} kernels
 */
export function pack(kernels, from, lda, to, rows, depth) {
  for (let row = 0; row < rows; row += 8)
    kernels.spread(from + 4 * row * lda, lda, to + 4 * row * depth, 1, 8, 8, depth);
}

/**
 * Lay out a model in the memory of kernels.
 * @param {import("./weights.js").Model} model  without unknown switches
 * @param {(bytes: number) => import("./kernels.js").Kernels} makeKernels
 * @returns {Machine}
 */
export function makeMachine({ config, preprocess, weights: w }, makeKernels) {
  const { embed_dim: dim, num_heads: heads, head_dim: d, mlp_hidden_dim: hidden, in_chans } = config;
  const [ph, pw] = config.patch_size;
  let [end, largest, longest] = [SCRATCH, 0, 0];
  /** @type {((f: Float32Array) => void)[]} */
  const writes = [];
  const take = (count) => {
    const start = end;
    end += 4 * up(count);
    return start;
  };
  /** @returns {Linear} */
  const linear = (name, out, into, { scale = "", first = 0 } = {}) => {
    const part = (numbers, width) => numbers?.subarray(first * width, (first + out) * width);
    const [weight, bias, gain] = [part(w[name + ".weight"], into), part(w[name + ".bias"], 1), w[scale]];
    const [cols, depth] = [up(out), up(into)];
    const made = {
      b: take(cols * depth),
      bias: take(cols),
      depth,
      cols,
      name,
      first,
      out,
      into,
      raw: gain ? { weight, bias, gain, scale } : null,
    };
    [largest, longest] = [Math.max(largest, cols * depth), Math.max(longest, cols, depth)];
    writes.push((f) => {
      for (let row = 0; row < out; row++) {
        const factor = gain ? gain[row] : 1; // LayerScale multiplies the output
        const start = made.b / 4 + (row - (row % 8)) * depth + (row % 8);
        for (let at = 0; at < into; at++) f[start + 8 * at] = factor * weight[row * into + at];
        if (bias) f[made.bias / 4 + row] = factor * bias[row];
      }
    });
    return made;
  };
  /** @returns {Norm|null} */
  const norm = (name, width) => {
    if (!w[name + ".weight"]) return null;
    const made = { gain: take(width), shift: take(width), width, name };
    writes.push((f) => {
      f.set(w[name + ".weight"], made.gain / 4);
      f.set(w[name + ".bias"] ?? [], made.shift / 4); // RMSNorm has none
    });
    return made;
  };
  const block = (layer) => {
    const name = "blocks." + layer + ".";
    const relative = name + "attn.score_bias.relative.table";
    const packed = config.mlp === "swiglu_packed";
    const scaled = (gamma) => (config.post_norm ? "" : name + gamma); // the norm stands in its place
    return {
      norm1: /** @type {Norm} */ (norm(name + "norm1", dim)),
      qkv: linear(name + "attn.qkv", 3 * dim, dim),
      qNorm: norm(name + "attn.q_norm", d),
      kNorm: norm(name + "attn.k_norm", d),
      angles: anglesOf(config, w[name + "attn.angles.freqs"]),
      bias: config.relative_bias ? { name: relative, table: w[relative].slice() } : null, // apart from the file
      norm: norm(name + "attn.norm", dim),
      proj: linear(name + "attn.proj", dim, dim, { scale: scaled("ls1.gamma") }),
      norm2: /** @type {Norm} */ (norm(name + "norm2", dim)),
      gate: linear(name + (config.mlp === "swiglu" ? "mlp.fc1_g" : "mlp.fc1"), hidden, dim),
      other: packed
        ? linear(name + "mlp.fc1", hidden, dim, { first: hidden })
        : config.mlp === "swiglu"
          ? linear(name + "mlp.fc1_x", hidden, dim)
          : null,
      hiddenNorm: norm(name + "mlp.norm", hidden),
      fc2: linear(name + "mlp.fc2", dim, hidden, { scale: scaled("ls2.gamma") }),
    };
  };
  const { pool_heads: poolHeads, pool_hidden_dim: poolHidden } = config;
  const pools = config.global_pool === "map" ? 4 : 0; // rows of what the pool's query gathers; the kernels take fours
  const attnPool = () => {
    const made = {
      latent: take(4 * up(dim)),
      q: linear("attn_pool.q", dim, dim),
      kv: linear("attn_pool.kv", 2 * dim, dim),
      proj: linear("attn_pool.proj", dim, dim),
      norm: /** @type {Norm} */ (norm("attn_pool.norm", dim)),
      gate: linear("attn_pool.mlp.fc1", poolHidden, dim),
      hiddenNorm: norm("attn_pool.mlp.norm", poolHidden),
      fc2: linear("attn_pool.mlp.fc2", dim, poolHidden),
    };
    writes.push((f) => f.set(w["attn_pool.latent"], made.latent / 4));
    return made;
  };
  const pixels = in_chans * ph * pw;
  const F = Math.min(24, dim);
  const parts = {
    patch: linear("patch_embed.proj", dim, pixels),
    blocks: Array.from({ length: config.depth }, (_, layer) => block(layer)),
    normPre: norm("norm_pre", dim),
    last: norm("norm", dim),
    attnPool: pools ? attnPool() : null,
    fcNorm: norm("fc_norm", config.pooled_dim),
    heads: ["head", "head_dist"]
      .filter((name) => w[name + ".weight"])
      .map((name) => linear(name, config.num_classes, config.pooled_dim)),
    prefix: joined([w.cls_token, w.dist_token, w.reg_token].filter(Boolean)),
    positions: w.pos_embed ?? null,
    filters: w["patch_embed.proj.weight"].slice(0, F * pixels),
    filterBias: (w["patch_embed.proj.bias"] ?? new Float32Array(F)).slice(0, F),
  };
  const rows = up(config.num_tokens) + 8;
  const answers = config.global_pool === "" ? rows : 8;
  const each = (names, count) => Object.fromEntries(names.map((name) => [name, take(count)]));
  const at = {
    patches: take(rows * up(pixels)),
    x: take(rows * up(dim)),
    y: take(rows * up(dim)),
    qkv: take(rows * up(3 * dim)),
    q: take(heads * rows * up(d)),
    k: take(heads * rows * up(d)),
    v: take(heads * rows * up(d)),
    mixed: take(heads * rows * up(d)),
    keys: take(rows * up(d)),
    values: take(rows * up(d)),
    scores: take(rows * rows),
    stats: take(2 * rows),
    hidden: take(rows * up(hidden)),
    other: take(rows * up(hidden)),
    pooled: take(answers * up(config.pooled_dim)),
    logits: take(answers * up(config.num_classes || 1)),
    zero: take(Math.max(rows, longest)),
    shares: take(pools && poolHeads * rows),
    ...each(["query", "gathered", "found", "heard", "dquery", "dgathered", "dheard"], pools * up(dim)),
    ...each(["poolBefore", "poolHidden", "poolNormed", "dpoolHidden"], pools * up(poolHidden)),
    branch: take(config.post_norm ? rows * up(dim) : 0),
    dx: take(rows * up(dim)),
    dy: take(rows * up(dim)),
    dqkv: take(rows * up(3 * dim)),
    dq: take(heads * rows * up(d)),
    dk: take(heads * rows * up(d)),
    dv: take(heads * rows * up(d)),
    dmixed: take(heads * rows * up(d)),
    dscores: take(rows * rows),
    turned: take(rows * Math.max(rows, longest)),
    before: take(rows * up(hidden)),
    dhidden: take(rows * up(hidden)),
    dbranch: take(config.post_norm ? rows * up(dim) : 0),
    dother: take(rows * up(hidden)),
    dpatches: take(rows * up(pixels)),
    dpooled: take(answers * up(config.pooled_dim)),
    dlogits: take(answers * up(config.num_classes || 1)),
    matrix: take(largest),
    normed: take(rows * Math.max(longest, heads * up(d))),
  };
  const eps = config.norm === "rmsnorm" ? -config.norm_eps : config.norm_eps;
  const kernels = makeKernels(end);
  const f = new Float32Array(kernels.memory);
  for (const write of writes) write(f);
  return { config, preprocess, kernels, f, ...parts, rows, eps, at };
}
