/**
 * Explain: the importance of every token, by the explainers of vitviz/probe/explain, whose docstrings define
 * them and name their sources. Explainers that take many passes are generators: they yield the share that is
 * done after each pass, so that other requests need not wait.
 */

import { backward } from "./backward.js";
import { cosineBack, cosineOf } from "./likeness.js";
import { up } from "./machine.js";
import { SelectionError } from "./surgery.js";
import { encode, enter, gist, head, poolShares, put, putHeads, taken, tokenize, weigh } from "./vit.js";
import { attentionRows, dot, layerOf, meanOfHeads } from "../maths/attention.js";
import { Chance } from "../maths/chance.js";
import { centreMap } from "../maths/fairness.js";
import { probabilitiesOf } from "../maths/outputs.js";

/**
 * One picture in one model, and a class or a vector; see `Case` in vitviz/probe/explain/case.py.
 * @typedef {{m: import("./machine.js").Machine, pass: import("./core.js").Pass,
 *   surgery: import("./surgery.js").Surgery,
 *   pixels: Float32Array, target: number, like: Float32Array|null,
 *   answering: import("./machine.js").Machine}} Case  target: -1 for explainers that know no class; like: the
 *   score is the cosine with this vector; answering: the machine whose head gives what is scored
 * @typedef {{values: Float32Array, forward: number, backward: number, gap: number|null}} Explained  values:
 *   (N); forward, backward: its cost, in passes of the whole picture; gap: see `gap` in
 *   vitviz/probe/explain/perturb.py; null where the values need not add up
 */

const WINDOWS = [1, 3];
const STEPS = 32;
const ROUNDING = 1e-5; // as in vitviz/probe/explain/perturb.py

/** @param {Float32Array} values @param {number|null} [gap] @returns {Explained} */
const explained = (values, forward = 0, backwards = 0, gap = null) => ({
  values,
  forward,
  backward: backwards,
  gap,
});

/** The explained score: the logit of the class, or the likeness. @param {Case} of @param {Float32Array} logits */
const scoreOf = ({ target, like }, logits) => (like ? cosineOf(logits, like) : logits[target]);

/**
 * Backpropagate the score to everything that is wanted.
 * @param {Case} of
 * @param {import("./backward.js").Wants} [wants]
 */
function gradientOf({ m, answering, pass, surgery, pixels, target, like }, wants) {
  const tokens = /** @type {Float32Array[]} */ (pass.tokens);
  let gradient = new Float32Array(pass.logits.length);
  if (like) {
    put(m, m.at.x, tokens[m.config.depth], pass.width); // this pass may have no logits of its own
    gradient = cosineBack(head(answering, surgery), like);
  } else gradient[target] = 1;
  return backward(answering, /** @type {any} */ (pass), pixels, surgery, gradient, wants);
}

/** The logits with only these patches, and all prefix tokens. @param {Case} of @param {number[]} patches */
function logitsWith({ m, answering, pass: { tokens, width }, surgery }, patches) {
  const short = surgery.keeping(patches);
  put(m, m.at.x, /** @type {Float32Array[]} */ (tokens)[0], width);
  encode(m, 0, short, null);
  return head(answering, short);
}

/** The patches that are not removed. @param {Case} of */
const patchesOf = ({ m, surgery }) => {
  const { num_prefix_tokens: prefix } = m.config;
  return surgery.staying.filter((token) => token >= prefix).map((token) => token - prefix);
};

/** Attention of a token in the last layer, in each head. (H * N) */
function lastRows({ m: { config }, pass, surgery }, token) {
  const last = config.depth - 1;
  const layer = /** @type {import("./vit.js").Looked[]} */ (pass.layers)[last];
  const model = { ...config, grid: config, scale: config.head_dim ** -0.5 };
  return attentionRows(layerOf(layer, model, surgery.cuts[last]), token, "from");
}

/**
 * `lastRows` after the interventions on the last layer: 0 for a head that is off, and for all heads if the
 * attention is left out; for a head that is set to its mean, the mean attention of all remaining tokens.
 */
function mixedRows(of, token) {
  const { m, surgery } = of;
  const { num_tokens: tokens, depth } = m.config;
  const rows = lastRows(of, token);
  if (surgery.lacks(depth - 1, "attention")) return rows.fill(0);
  const off = surgery.of("head").filter(({ layer }) => layer === depth - 1);
  for (const { head } of off) rows.fill(0, head * tokens, (head + 1) * tokens);
  const meant = off.filter(({ by }) => by === "mean");
  for (const query of meant.length > 0 ? surgery.staying : []) {
    const others = lastRows(of, query);
    for (const { head } of meant)
      for (let at = head * tokens; at < (head + 1) * tokens; at++)
        rows[at] += others[at] / surgery.staying.length;
  }
  return rows;
}

/** Attention of the query that pools the tokens, in each head, (H, N). Its keys and values stay in memory, at `qkv`. */
function pooledRows({ m, pass, surgery }) {
  put(m, m.at.x, pass.tokens[m.config.depth], pass.width);
  gist(m, surgery);
  return /** @type {Float32Array} */ (poolShares(m));
}

/** Mean over heads of the positive part of attention times its gradient, of the query that pools the tokens. (N) */
function pooledRelevance({ m: { config } }, shares, gradient) {
  const row = new Float64Array(config.num_tokens);
  shares.forEach((share, i) => {
    row[i % row.length] += Math.max(0, share * gradient[i]) / config.pool_heads;
  });
  return row;
}

function attention(of, token) {
  if (of.m.attnPool) return explained(meanOfHeads(pooledRows(of), of.m.config.pool_heads));
  return explained(meanOfHeads(lastRows(of, token), of.m.config.num_heads));
}

function unit(count, token) {
  const row = new Float64Array(count);
  row[token] = 1;
  return row;
}

function rollout(of, token) {
  const { m, pass, surgery } = of;
  const { f, at } = m;
  const { depth, num_heads: heads, num_tokens: tokens } = m.config;
  let row = m.attnPool
    ? Float64Array.from(meanOfHeads(pooledRows(of), m.config.pool_heads))
    : unit(tokens, token);
  for (let layer = depth - 1; layer >= 0; layer--) {
    for (const name of ["q", "k"]) putHeads(m, at[name], pass.layers[layer][name]);
    const next = row.map((share) => share / 2);
    for (let head = 0; head < heads; head++) {
      weigh(m, layer, head, surgery, tokens);
      for (let i = 0, from = at.scores / 4; i < tokens; i++, from += up(tokens)) {
        for (let j = 0; j < tokens; j++) next[j] += (row[i] * f[from + j]) / (2 * heads);
      }
    }
    row = next;
  }
  return explained(Float32Array.from(row));
}

function attentionNorm(of, token) {
  const { m, pass } = of;
  const { config, f, at, blocks, kernels, attnPool } = m;
  const { num_tokens: tokens, embed_dim: width, depth, attn_norm: inner } = config;
  if (inner && !attnPool) throw new SelectionError("no_attention_norm", {});
  const shares = attnPool ? pooledRows(of) : mixedRows(of, token);
  const dim = attnPool ? width / config.pool_heads : config.head_dim;
  const { proj } = attnPool ?? blocks[depth - 1];
  const valueOf = attnPool
    ? (key, i) => f[at.qkv / 4 + key * attnPool.kv.cols + width + i]
    : (key, i) => pass.layers[depth - 1].v[(Math.floor(i / dim) * tokens + key) * dim + (i % dim)];
  const moved = Float32Array.from({ length: tokens * width }, (_, at) => {
    const [key, i] = [Math.floor(at / width), at % width];
    return shares[Math.floor(i / dim) * tokens + key] * valueOf(key, i);
  });
  put(m, at.y, moved, width);
  kernels.product(
    at.y,
    proj.depth,
    proj.b,
    at.zero,
    at.dy,
    proj.cols,
    (tokens + 3) & ~3,
    proj.depth,
    proj.cols,
    0,
  );
  const projected = taken({ f }, at.dy, tokens, width);
  const { raw } = proj; // without the gain of LayerScale, which comes after
  const part = (key, out) =>
    raw ? dot(raw.weight, out * width, moved, key * width, width) : projected[key * width + out];
  const values = new Float32Array(tokens);
  for (let key = 0; key < tokens; key++) {
    for (let out = 0; out < width; out++) values[key] += part(key, out) ** 2;
  }
  return explained(values.map(Math.sqrt), 1);
}

function attentionGradient(of, token) {
  const values = new Float32Array(of.m.config.num_tokens);
  gradientOf(of, {
    first: of.m.attnPool ? of.m.config.depth : 0,
    pool: (shares, gradient) =>
      shares.forEach((share, i) => {
        values[i % values.length] += share * gradient[i];
      }),
    map(_, __, f, { attention: a, gradient: d, stride, rows }) {
      const from = token * stride;
      if (token < rows)
        for (let j = 0; j < values.length; j++) values[j] += f[a + from + j] * f[d + from + j];
    },
  });
  return explained(values, 1, 1);
}

function generic(of, token) {
  const { num_heads: heads, num_tokens: tokens } = of.m.config;
  const row = unit(tokens, token);
  let next = new Float64Array(tokens);
  gradientOf(of, {
    first: 0,
    pool: (shares, gradient) => row.set(pooledRelevance(of, shares, gradient)),
    map(_, head, f, { attention: a, gradient: d, stride, rows }) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0, from = i * stride; row[i] && j < tokens; j++, from++)
          next[j] += (row[i] * Math.max(0, f[a + from] * f[d + from])) / heads;
      }
      if (head < heads - 1) return;
      next.forEach((value, j) => {
        row[j] += value;
      });
      next = new Float64Array(tokens);
    },
  });
  return explained(Float32Array.from(row), 1, 1);
}

function gradientRollout(of, token) {
  const { num_heads: heads, num_tokens: tokens } = of.m.config;
  let row = unit(tokens, token);
  let fused = new Float64Array(tokens * tokens);
  gradientOf(of, {
    first: 0,
    pool(shares, gradient) {
      row = pooledRelevance(of, shares, gradient);
      const sum = row.reduce((total, value) => total + value, 0);
      if (sum > 0) row = row.map((value) => value / sum);
    },
    map(_, head, f, { attention: a, gradient: d, stride, rows }) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0, from = i * stride; j < tokens; j++, from++)
          fused[i * tokens + j] += Math.max(0, f[a + from] * f[d + from]);
      }
      if (head < heads - 1) return;
      const next = row.map((value) => value / 2);
      for (let i = 0; i < tokens; i++) {
        const shares = fused.subarray(i * tokens, (i + 1) * tokens);
        const sum = shares.reduce((total, value) => total + value, 0);
        if (sum > 0) for (let j = 0; j < tokens; j++) next[j] += (row[i] * shares[j]) / sum / 2;
        else next[i] += row[i] / 2;
      }
      [row, fused] = [next, fused.fill(0)];
    },
  });
  return explained(Float32Array.from(row), 1, 1);
}

function gradCam(of) {
  const { m, pass } = of;
  const { config, at, blocks } = m;
  const { depth, embed_dim: width, num_tokens: tokens, num_prefix_tokens: prefix } = config;
  const there = patchesOf(of).map((patch) => prefix + patch);
  const weights = new Float64Array(width);
  gradientOf(of, {
    first: depth - 1,
    asking(_, gradient) {
      for (const token of there)
        for (let i = 0; i < width; i++) weights[i] += gradient[token * width + i] / there.length;
    },
  });
  put(m, at.x, pass.tokens[depth - 1], width);
  enter(m, blocks[depth - 1].norm1, tokens);
  const heard = taken(m, at.y, tokens, width);
  const values = new Float32Array(tokens); // of patches that are there
  for (const token of there) values[token] = Math.max(0, dot(heard, token * width, weights, 0, width));
  return explained(values, 1, 1 / depth);
}

/**
 * Patches of each window of the grid, without those that are not `there`; no empty window, nor all patches.
 */
function windowsOf({ rows, cols }, side, there) {
  const [height, width] = [Math.min(side, rows), Math.min(side, cols)];
  const all = Array.from({ length: (rows - height + 1) * (cols - width + 1) }, (_, at) => {
    const [top, left] = [Math.floor(at / (cols - width + 1)), at % (cols - width + 1)];
    return Array.from(
      { length: height * width },
      (__, i) => (top + Math.floor(i / width)) * cols + left + (i % width),
    ).filter((patch) => there.has(patch));
  });
  return all.filter((gone) => gone.length > 0 && gone.length < there.size);
}

function* occlusion(of) {
  const { pass } = of;
  const { config } = of.m;
  const score = scoreOf(of, pass.logits);
  const patches = patchesOf(of);
  const sides = WINDOWS.map((side) => windowsOf(config, side, new Set(patches))).filter(
    ({ length }) => length > 0,
  );
  const all = sides.reduce((sum, { length }) => sum + length, 0);
  const values = new Float32Array(config.num_tokens);
  let [done, forward] = [0, 0];
  for (const windows of sides) {
    const [sums, counts] = [new Float64Array(config.num_patches), new Uint32Array(config.num_patches)];
    for (const gone of windows) {
      const kept = patches.filter((patch) => !gone.includes(patch));
      const fall = score - scoreOf(of, logitsWith(of, kept));
      for (const patch of gone) {
        sums[patch] += fall / gone.length;
        counts[patch] += 1;
      }
      forward += (config.num_prefix_tokens + kept.length) / config.num_tokens;
      yield ++done / all;
    }
    sums.forEach((sum, patch) => {
      values[config.num_prefix_tokens + patch] += sum / Math.max(1, counts[patch]) / sides.length;
    });
  }
  return explained(values, forward);
}

function* integratedGradients(of) {
  const { m, surgery, pixels } = of;
  const { config } = m;
  const { num_tokens: tokens, embed_dim: dim, in_chans: channels, cols, num_prefix_tokens: prefix } = config;
  const [[, width], [ph, pw]] = [config.image_size, config.patch_size];
  const area = pixels.length / channels;
  const means = Array.from(
    { length: channels },
    (_, c) => pixels.subarray(c * area, (c + 1) * area).reduce((sum, pixel) => sum + pixel, 0) / area,
  );
  const away = pixels.map((pixel, i) => pixel - means[Math.floor(i / area)]);
  const total = new Float64Array(pixels.length);
  for (let step = 0; step < STEPS; step++) {
    const here = pixels.map((_, i) => means[Math.floor(i / area)] + (away[i] * (step + 0.5)) / STEPS);
    tokenize(m, here, surgery);
    const pass = { ...of.pass, tokens: [taken(m, m.at.x, tokens, dim)], layers: /** @type {any[]} */ ([]) };
    encode(m, 0, surgery, (_, looked, after) => {
      pass.layers.push(looked);
      pass.tokens.push(after);
    });
    const gradient = gradientOf({ ...of, pass, pixels: here });
    gradient?.forEach((slope, i) => {
      total[i] += slope;
    });
    yield (step + 1) / STEPS;
  }
  const values = new Float64Array(tokens);
  total.forEach((sum, i) => {
    const [y, x] = [Math.floor((i % area) / width), i % width];
    values[prefix + Math.floor(y / ph) * cols + Math.floor(x / pw)] += (away[i] * sum) / STEPS;
  });
  const start = pixels.map((_, i) => means[Math.floor(i / area)]);
  return explained(Float32Array.from(values), STEPS, STEPS, gapOf(of, start, values));
}

/** The gap of integrated gradients from the picture `start`; see `gap` in vitviz/probe/explain/perturb.py. */
function gapOf(of, start, values) {
  const { m, answering, pass, surgery } = of;
  tokenize(m, start, surgery);
  encode(m, 0, surgery, null);
  const score = scoreOf(of, pass.logits);
  const rise = score - scoreOf(of, head(answering, surgery));
  const apart = Math.abs(values.reduce((sum, value) => sum + value, 0) - rise);
  return apart <= ROUNDING * Math.max(1, Math.abs(score)) ? 0 : apart / Math.abs(rise);
}

function placed({ m: { config } }, patches) {
  const values = new Float32Array(config.num_tokens);
  values.set(patches, config.num_prefix_tokens);
  return explained(values);
}

function centre(of) {
  return placed(of, centreMap(of.m.config));
}

function random(of) {
  return placed(of, new Chance(0, "random map").uniforms(of.m.config.num_patches));
}

/** @type {Record<string, (of: Case, token: number) => Explained|Generator<number, Explained, void>>} */
export const EXPLAINERS = {
  attention,
  rollout,
  attention_norm: attentionNorm,
  attention_gradient: attentionGradient,
  generic,
  gradient_rollout: gradientRollout,
  grad_cam: gradCam,
  occlusion,
  integrated_gradients: integratedGradients,
  centre,
  random,
};

/**
 * The probability of the class, or the likeness, with only the patches of each list.
 * @param {Case} of
 * @param {number[][]} kept  lists of patches
 * @param {import("../types.js").Outputs} outputs  what they mean; of values there are none: NaN
 * @param {number} temperature
 * @returns {Generator<number, Float32Array, void>}
 */
export function* scores(of, kept, outputs, temperature) {
  const found = new Float32Array(kept.length);
  for (const [at, patches] of kept.entries()) {
    const logits = logitsWith(of, patches);
    found[at] = of.like
      ? scoreOf(of, logits)
      : (probabilitiesOf(logits, outputs, temperature)?.[of.target] ?? NaN);
    yield (at + 1) / kept.length;
  }
  return found;
}
