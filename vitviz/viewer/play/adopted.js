/** Adopted: a model of the playground as the viewer knows models, as vitviz/payload/payload.py packs one. */

import { toFloat32, writeSafetensors } from "../maths/safetensors.js";
import { principal, unitRowsOf } from "../maths/measures.js";
import { EXPLAINERS } from "./explainers.js";
import { temperatureOf } from "./inspect.js";

const DARK_GROUND = 1 / 3; // mean brightness below which the pictures of a training have a dark ground
const VERSION = 2; // of a manifest, as in vitviz/payload/payload.py

/**
 * The part of a manifest that is true of every picture, with its files, for `analysed` of data/localanalysis.js.
 * @param {{facts: import("../engine/core.js").Facts,
 *   tensors: Record<string, import("../maths/safetensors.js").Tensor>}} known
 * @param {{key: string, file: string, names: Record<string, string>, right?: number, pictures: number}} called
 *   key: by which the viewer knows the model; file: the name under which it is saved; names: by language;
 *   right: its accuracy, from 0 to 1; pictures: number of pictures on which that was measured
 * @returns {import("../types.js").Manifest}
 */
export function templateOf({ facts, tensors }, { key, file: saved, names, right, pictures }) {
  const { config, preprocess, labels, details } = facts;
  const { embed_dim: dim, num_prefix_tokens: prefix, rows, cols, num_patches: count } = config;
  const { patch_size: patch } = config;
  const [height, width] = config.image_size;
  const title = names.en;
  const words = Object.fromEntries(
    Object.entries(names)
      .filter(([language]) => language !== "en")
      .map(([language, name]) => [language, { texts: { [title]: name } }]),
  );
  const parameters = Object.values(tensors).reduce((sum, { data }) => sum + data.length, 0);
  const model = {
    name: key,
    source: title,
    num_parameters: parameters,
    head: "classes",
    trained: true,
    details: { title, ...factsOf(details) },
    assumed: [],
    taught: null,
    measurements: right === undefined ? {} : { top1: right, pictures },
    labels,
    groups: null,
    temperature: temperatureOf(facts),
    calibrated: details?.temperature !== undefined,
    threshold: null,
    known_by: "logsumexp of the logits",
    kept: 0.95,
    certain: null,
    not_sure: 0.25,
    holds_its_group: 0.9,
    outputs: "one_of",
    true: 0.5,
    named: 3,
    light_ink_only: isOfLightInk(facts),
    taught_place: null,
    key: { name: key, untrained: false, image_size: null },
    saved_as: saved,
    sizes: [],
    trained_size: [height, width],
    title,
    image: { height, width, channels: config.in_chans },
    mean: preprocess.mean,
    std: preprocess.std,
    grid: { rows, cols, patch_height: patch[0], patch_width: patch[1] },
    prefix_tokens: prefixOf(config),
    depth: config.depth,
    num_heads: config.num_heads,
    head_dim: config.head_dim,
    embed_dim: dim,
    num_tokens: config.num_tokens,
    steps: stepsOf(config),
    scale: config.head_dim ** -0.5,
    embedding_norms: [],
    attention_norm: "layernorm",
    attention_parts: ["qkv_bias"],
    mlp: { gated: config.mlp !== "mlp", activation: config.activation },
    position_kinds: [...(config.pos_embed ? ["learned"] : []), ...(config.rotary ? ["rotary"] : [])],
    num_classes: config.num_classes,
    pool: config.global_pool,
    outlier_times: 2,
    explainers: EXPLAINERS[patch[0]] ?? [],
    tested: null,
    words,
  };
  const file = (made) => ({ make: async () => writeSafetensors(made()) });
  const components = () => {
    const weight = toFloat32(tensors["patch_embed.proj.weight"]);
    const { directions, explained } = principal(weight, weight.length / dim);
    return {
      components: { shape: [3, config.in_chans, ...patch], data: directions },
      shares: { shape: [3], data: explained },
    };
  };
  const files = { filters: file(components) };
  if (config.pos_embed)
    files.positions = file(() => ({
      pos_embed: { shape: [count, dim], data: positionsOf({ tensors, dim, prefix }) },
    }));
  if (config.rotary) files.inside = file(() => rotaryOf(config));
  return /** @type {any} */ ({
    version: VERSION,
    model,
    photo: null,
    pass: { changes: [], removed: [] },
    files,
  });
}

/**
 * The tokens before the patches, as vitviz/model/config.py names them.
 * @param {import("../engine/config.js").Config} config
 */
const prefixOf = ({ class_token: cls, dist_token: dist, reg_tokens: count }) => [
  ...(cls ? ["cls_token"] : []),
  ...(dist ? ["dist_token"] : []),
  ...Array.from({ length: count }, (_, at) => "reg_token " + (at + 1)),
];

/**
 * Whether it learned light strokes on a dark ground alone: `taught_light_ink_only` of vitviz/probe/measure/ink.py.
 */
function isOfLightInk({ details, preprocess: { mean } }) {
  const recipe = recipeOf(details);
  return Object.keys(recipe).length > 0 && !recipe.invert && mean[0] < DARK_GROUND;
}

/** The settings of its training; none where the file has no readable ones. @param {any} details */
function recipeOf(details) {
  try {
    return JSON.parse(details?.recipe ?? "{}") ?? {};
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return {};
  }
}

/** How it learned, where a file says that. @param {any} details @returns {Record<string, string>} */
const factsOf = (details) =>
  Object.fromEntries(
    ["steps", "seed"].flatMap((name) => (typeof details?.[name] === "string" ? [[name, details[name]]] : [])),
  );

/** The positions of the patches, as rows of length 1. (P * D) */
export function positionsOf({ tensors, dim, prefix }) {
  return unitRowsOf(toFloat32(tensors.pos_embed).slice(prefix * dim), dim);
}

/**
 * The angles by which a step down and a step right turn q and k, and the similarity left to equal content, as
 * vitviz/probe/measure has them.
 */
function rotaryOf({ rotary, rows, cols, head_dim: dim }) {
  const half = dim / 2;
  // of the first patch, of a row, of a column: axial ones begin at 0
  const turns = new Float32Array(3 * half);
  for (let m = 0; m < half; m++)
    turns[(m < half / 2 ? 1 : 2) * half + m] = rotary.temperature ** -((m % (half / 2)) / (half / 2));
  const [high, wide] = [2 * rows - 1, 2 * cols - 1];
  const damping = Float32Array.from({ length: high * wide }, (_, at) => {
    const [down, right] = [Math.floor(at / wide) - rows + 1, (at % wide) - cols + 1];
    let sum = 0;
    for (let m = 0; m < half; m++)
      sum += Math.cos(down * turns[half + m] + right * turns[2 * half + m]) / half;
    return sum;
  });
  return {
    rotary: { shape: [1, 1, high, wide], data: damping },
    turns: { shape: [1, 3, 1, half], data: turns },
  };
}

/** The tensors between pixels and logits, as vitviz/probe/measure/shapes.py lists them. */
function stepsOf({
  in_chans,
  image_size,
  patch_size,
  num_patches: P,
  num_tokens: N,
  num_prefix_tokens: prefix,
  embed_dim: D,
  num_heads: H,
  head_dim,
  mlp_hidden_dim,
  pos_embed,
  global_pool,
  num_classes,
}) {
  const [all, patches] = [
    [0, N],
    [prefix, N],
  ];
  const step = (name, module, shape, tokens, in_block = false) => ({
    name,
    module,
    shape: [1, ...shape],
    tokens,
    in_block,
  });
  const pooled = global_pool === "token" ? [0, 1] : patches;
  return [
    step("pixels", "", [in_chans, ...image_size], null),
    step("patches", "", [P, in_chans * patch_size[0] * patch_size[1]], patches),
    step("patch embedding", "patch_embed", [P, D], patches),
    ...(prefix ? [step("prefix tokens", "", [prefix, D], [0, prefix])] : []),
    ...(pos_embed ? [step("position embedding", "pos_embed", [N, D], all)] : []),
    step("tokens", "", [N, D], all),
    step("queries, keys, values", "blocks.*.attn.qkv", [N, 3 * D], all, true),
    step("queries per head", "blocks.*.attn.tap", [H, N, head_dim], all, true),
    step("attention maps", "", [H, N, N], all, true),
    step("attention output", "blocks.*.attn", [N, D], all, true),
    step("MLP hidden", "blocks.*.mlp.act", [N, mlp_hidden_dim], all, true),
    step("MLP output", "blocks.*.mlp", [N, D], all, true),
    step("tokens after the block", "blocks.*", [N, D], all, true),
    step("final tokens", "norm", [N, D], all),
    step("pooled", "", [D], pooled),
    step("logits", "head", [num_classes], pooled),
  ];
}
