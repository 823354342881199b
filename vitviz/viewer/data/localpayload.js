/** Local payload: the files of a pass of this page, as vitviz/payload/payload.py makes those of the host. */

import { KINDS, LIMITS } from "../engine/tables.js";
import { attentionRows, layerOf } from "../maths/attention.js";
import { cutsOf } from "../maths/cuts.js";
import { gridOf } from "../maths/geometry.js";
import { headStatistics, normedRows, normsOf, principal, unitRowsOf } from "../maths/measures.js";
import { expectTensor, joined, toFloat32, writeSafetensors } from "../maths/safetensors.js";
import { inSlices } from "./idle.js";
import { layerName } from "./layers.js";

/**
 * A model that runs in this page: what its engine told of it, and what its checkpoint says of itself and
 * holds.
 * @typedef {{facts: import("../engine/core.js").Facts, described: any,
 *   tensors: Record<string, import("../maths/safetensors.js").Tensor>}} Known
 */

/**
 * Donor: the name and the pass of a picture whose tokens a transplant puts in. Found: a pass with the donor
 * of each of its interventions, undefined for one that puts no tokens in.
 * @typedef {{name: string, pass: import("../engine/core.js").Pass}} Donor
 * @typedef {import("../engine/core.js").Pass & {donors?: (Donor|undefined)[]}} Found
 */

/**
 * The files of a pass, each written on request. Floats keep 32 bits: the files are never sent, so rounding
 * them would save nothing.
 * @param {Found} found  a whole pass, not the answer alone
 * @param {import("../types.js").Model} model
 * @param {import("../types.js").Pass} pass  its entry in the manifest
 * @param {Known} known
 * @returns {Record<string, import("../types.js").PayloadFile>}
 */
export function filesOf(found, model, pass, known) {
  const { first, removed } = pass;
  const { num_heads: heads, num_tokens: tokens, head_dim: dim, depth, embed_dim: width, image } = model;
  const grid = gridOf({ model });
  const layers = /** @type {import("../engine/vit.js").Looked[]} */ (found.layers);
  // The mixing files hold for plain blocks only, and without interventions on heads.
  const mixes =
    isPlain(known.facts.config) && !found.interventions.some(({ kind }) => KINDS[kind].touches === "heads");
  const after = (layer) => /** @type {Float32Array[]} */ (found.tokens)[layer + 1];
  const at = (layer) => layerOf(layers[layer], model, cutsOf({ model, pass }, layer));
  const file = (tensors) => ({ make: async () => writeSafetensors(await tensors()) });
  /** Calls `make` for every layer; the page is free after each. */
  const each = async (make) => {
    const all = [];
    await inSlices(() => all.push(make(all.length)) === depth, { sliceMs: 0 });
    return all;
  };
  const statistics = async () => {
    const all = await each((layer) => headStatistics(at(layer), grid, removed));
    return {
      entropy: { shape: [depth, heads], data: joined(all.map(({ entropy }) => entropy)) },
      distance: { shape: [depth, heads], data: joined(all.map(({ distance }) => distance)) },
      error: { shape: [depth], data: new Float32Array(depth) },
    }; // what is shown is what the model computed
  };
  const { config } = known.facts;
  const norm = (rows) => normedBy("norm", rows, width, known);
  const features = async (read = (rows) => rows) => {
    const all = await each((layer) => principal(read(after(layer)).subarray(grid.prefix * width), width));
    const of = (name, ...shape) => ({ shape: [depth, ...shape], data: joined(all.map((one) => one[name])) });
    return {
      scores: of("scores", tokens - grid.prefix, 3),
      explained: of("explained", 3),
      range: of("range", 2, 3),
      norms: { shape: [depth, tokens], data: joined(layers.map((_, layer) => normsOf(after(layer), width))) },
    };
  };
  const files = {
    first: file(() => ({
      rows: {
        shape: [heads, tokens],
        data: attentionRows(at(first.layer), first.token, first.direction),
      },
      ...answered(found, model),
      ...donated(found, image),
    })),
    picture: file(() => ({
      pixels: { shape: [image.height, image.width, image.channels], data: found.picture },
    })),
    statistics: file(statistics),
    features: file(() => features()),
    embedding: file(() => embeddingOf(found, model, known)),
  };
  if (config.final_norm === "before_pool") files.normed = file(() => features(norm));
  if (hasFeatures(found, model)) files.vector = file(() => featuresOf(found));
  if (found.lens)
    files.lens = file(() => ({
      logits: { shape: [depth, model.num_classes], data: joined(found.lens ?? []) },
    }));
  const { shares } = found;
  if (shares)
    files.pooling = file(() => ({ shares: { shape: [shares.length / tokens, tokens], data: shares } }));
  layers.forEach(({ q, k, lse, bias }, layer) => {
    files[layerName(layer)] = file(() => ({
      q: { shape: [heads, tokens, dim], data: q },
      k: { shape: [heads, tokens, dim], data: k },
      lse: { shape: [heads, tokens], data: lse },
      ...bias,
    }));
    files[layerName(layer, "tokens")] = file(() => ({
      unit: { shape: [tokens, width], data: unitRowsOf(after(layer), width) },
    }));
    if (mixes) files[layerName(layer, "mixing")] = file(() => mixingOf(found, layer, model, known));
  });
  return files;
}

/**
 * The file of an answer alone.
 * @param {import("../engine/core.js").Pass} found
 * @param {import("../types.js").Model} model
 */
export const answerFile = (found, model) =>
  writeSafetensors({ ...answered(found, model), ...(hasFeatures(found, model) ? featuresOf(found) : {}) });

/** Whether a pass gives features beside its classes, to be compared with those of another picture. */
const hasFeatures = ({ vector }, { head }) => head === "classes" && vector !== null;

const featuresOf = ({ vector }) => ({ vector: { shape: [vector.length], data: vector } });

/**
 * The logits of a model, or its one vector in place of an answer; {} for a model that gives a vector of each
 * token.
 */
function answered({ logits }, { head, num_classes: classes, pool }) {
  if (head === "classes") return { logits: { shape: [classes], data: logits } };
  return pool === "" ? {} : featuresOf({ vector: logits });
}

/**
 * The names of all classes, for a pass in a model whose manifest has not room for them.
 * @param {import("../types.js").Model} model
 * @param {Known} known
 */
export const labelsOf = ({ labels }, { facts }) =>
  labels === null && facts.labels ? { labels: facts.labels } : {};

/**
 * A pass that names whose tokens were put in, in place of keys.
 * @param {import("../engine/core.js").Pass} run
 * @param {Record<string, Donor>} donors  by keys
 * @returns {Found}
 */
export function named(run, donors) {
  const { interventions } = run;
  return {
    ...run,
    donors: interventions.map(({ from }) => donors[from]),
    interventions: interventions.map((one) =>
      one.from === undefined ? one : { ...one, from: donors[one.from].name },
    ),
  };
}

/** Thumbnails of the donors: every n-th pixel, for sides of at most `LIMITS.donor_side`. */
function donated({ donors = [] }, { height, width, channels }) {
  const step = Math.ceil(Math.max(height, width) / LIMITS.donor_side);
  const [rows, cols] = [Math.ceil(height / step), Math.ceil(width / step)];
  const small = ({ pass: { picture } }) =>
    Uint8Array.from(
      { length: rows * cols * channels },
      (_, at) =>
        picture[
          (Math.floor(at / (cols * channels)) * width + (Math.floor(at / channels) % cols)) *
            step *
            channels +
            (at % channels)
        ],
    );
  return Object.fromEntries(
    donors.flatMap((one, place) =>
      one ? [["donor." + place, { shape: [rows, cols, channels], data: small(one) }]] : [],
    ),
  );
}

/** Whether `proj` has no norm or layer scale around it. Only the host computes the mixing of other blocks. */
const isPlain = ({ attn_norm: inner, layer_scale: scaled, post_norm: last }) => !inner && !scaled && !last;

function embeddingOf({ embedding }, { num_tokens: tokens, image, grid }, { facts: { filters, filterBias } }) {
  const count = filterBias.length;
  return {
    filters: { shape: [count, image.channels, grid.patch_height, grid.patch_width], data: filters },
    bias: { shape: [count], data: filterBias },
    content: { shape: [tokens, count], data: embedding.content },
    position: { shape: [tokens, count], data: embedding.position },
  };
}

/** Rows after a norm of the model. */
function normedBy(name, rows, width, { facts: { config }, tensors }) {
  const weight = (part) => toFloat32(expectTensor(tensors, name + part, [width]));
  const shift = config.norm === "rmsnorm" ? null : weight(".bias");
  return normedRows(rows, weight(".weight"), shift, config.norm_eps);
}

/** From the values of a layer to the tokens; see vitviz/probe/measure/mixing.py. */
function mixingOf(
  { tokens: all, layers },
  layer,
  { num_heads: heads, num_tokens: tokens, head_dim: dim, embed_dim: width },
  known,
) {
  const { tensors } = known;
  const { config } = known.facts;
  const weight = (name, ...shape) => toFloat32(expectTensor(tensors, "blocks." + layer + "." + name, shape));
  const matrix = weight("attn.proj.weight", width, width);
  const out = new Float32Array(width * width);
  const hidden = /** @type {Float32Array} */ (layers[layer].hidden);
  for (let at = 0; at < out.length; at++) {
    const [head, row, i] = [Math.floor(at / (width * dim)), Math.floor(at / dim) % width, at % dim];
    out[at] = matrix[row * width + head * dim + i];
  }
  return {
    v: { shape: [heads, tokens, dim], data: layers[layer].v },
    out: { shape: [heads, width, dim], data: out },
    before: { shape: [tokens, width], data: all[layer] },
    norms: {
      shape: [tokens],
      data: normsOf(normedBy("blocks." + layer + ".norm1", all[layer], width, known), width),
    },
    rest: {
      shape: [1, width],
      data: config.proj_bias ? weight("attn.proj.bias", width) : new Float32Array(width),
    },
    gain: { shape: [tokens], data: new Float32Array(tokens).fill(1) },
    hidden: { shape: [tokens, hidden.length / tokens], data: hidden },
  };
}
