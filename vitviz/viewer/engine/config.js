/** Config: every choice that makes one Vision Transformer differ from another, as vitviz/model/config.py has it. */

import { FormatError } from "../maths/safetensors.js";
import { SUPPORTED } from "./tables.js";

const MOST = 2 ** 16;

const DEFAULTS = {
  image_size: [224, 224], patch_size: [16, 16], in_chans: 3, num_classes: 1000, embed_dim: 768, depth: 12, num_heads: 12,
  mlp_hidden_dim: null, class_token: true, dist_token: false, reg_tokens: 0, pos_embed: true, pos_embed_prefix: true, rotary: null,
  relative_bias: false, patch_bias: true, patch_norm_before: false, patch_norm_after: false, norm: "layernorm", norm_eps: 1e-6,
  norm_pre: false, final_norm: "before_pool", post_norm: false, qkv_bias: true, qk_norm: false, attn_norm: false, proj_bias: true,
  layer_scale: false, mlp: "mlp", mlp_norm: false, activation: "gelu", global_pool: "token", pool_prefix: false, pool_heads: null,
  pool_hidden_dim: null,
};
const WORDS = {
  norm: ["layernorm", "rmsnorm"], activation: ["gelu", "gelu_tanh", "quick_gelu", "silu"], mlp: ["mlp", "swiglu", "swiglu_packed"],
  global_pool: ["token", "avg", "token_avg", "map", ""], final_norm: ["before_pool", "after_pool", "none"],
};
const ROTARY = { kind: "", temperature: 100, order: "yx", offset: 0, reference: null };

/**
 * @typedef {{kind: "normalised"|"axial"|"mixed", temperature: number, order: "yx"|"xy", offset: number, reference: [number, number]|null}} Rotary
 * @typedef {{
 *   image_size: [number, number], patch_size: [number, number], in_chans: number, num_classes: number, embed_dim: number, depth: number,
 *   num_heads: number, mlp_hidden_dim: number, class_token: boolean, dist_token: boolean, reg_tokens: number, pos_embed: boolean,
 *   pos_embed_prefix: boolean, rotary: Rotary|null, patch_bias: boolean, norm_eps: number, norm_pre: boolean, final_norm: string,
 *   qkv_bias: boolean, qk_norm: boolean, attn_norm: boolean, proj_bias: boolean, layer_scale: boolean, mlp: string, mlp_norm: boolean,
 *   activation: string, global_pool: string, pool_prefix: boolean, rows: number, cols: number, num_patches: number,
 *   num_prefix_tokens: number, num_tokens: number, head_dim: number, pooled_dim: number, [name: string]: any,
 * }} Config
 *   as Python has it, with what follows from it: the grid, and the number of tokens
 */

const isWhole = (value, least) => Number.isInteger(value) && value >= least && value <= MOST;
const isNumber = (value, least, most) => typeof value === "number" && value >= least && value <= most;
const isSides = (value) => Array.isArray(value) && value.length === 2 && value.every((side) => isWhole(side, 1));

/** A value of a file, cut to a length that a sentence can quote. */
const short = (value) => String(JSON.stringify(value)).slice(0, 80);

function expect(good, sentence) {
  if (!good) throw new FormatError(sentence);
}

/**
 * The config in a checkpoint. Throws a FormatError for one that makes no model.
 * @param {any} values  as `ViTConfig.to_dict` wrote them
 * @returns {Config}
 */
export function readConfig(values) {
  expect(values !== null && typeof values === "object" && !Array.isArray(values), "a model's config must be a dictionary, got " + short(values));
  const unknown = Object.keys(values).filter((name) => !Object.hasOwn(DEFAULTS, name)).sort();
  expect(unknown.length === 0, "the model's config has fields that vitviz does not know: " + unknown.slice(0, 5).join(", "));
  const config = { ...DEFAULTS, ...values };
  for (const name of ["image_size", "patch_size"]) {
    if (isWhole(config[name], 1)) config[name] = [config[name], config[name]];
    expect(isSides(config[name]), name + " must be height and width from 1 to " + MOST + " pixels, got " + short(config[name]));
  }
  config.mlp_hidden_dim ??= 4 * config.embed_dim;
  for (const [name, least] of Object.entries({ in_chans: 1, embed_dim: 1, depth: 1, num_heads: 1, mlp_hidden_dim: 1, num_classes: 0, reg_tokens: 0 })) {
    expect(isWhole(config[name], least), name + " must be a whole number from " + least + " to " + MOST + ", got " + short(config[name]));
  }
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    expect(typeof usual !== "boolean" || typeof config[name] === "boolean", name + " must be true or false, got " + short(config[name]));
  }
  for (const [name, words] of Object.entries(WORDS)) {
    expect(words.includes(config[name]), name + " must be one of " + words.join(", ") + ", got " + short(config[name]));
  }
  expect(isNumber(config.norm_eps, 1e-30, 1), "norm_eps must be a number from 1e-30 to 1, got " + short(config.norm_eps));
  for (const [at, axis] of ["height", "width"].entries()) {
    const [size, patch] = [config.image_size[at], config.patch_size[at]];
    expect(size % patch === 0, "image_size: the " + axis + " " + size + " is not a multiple of the patch's " + patch);
  }
  expect(config.embed_dim % config.num_heads === 0, "embed_dim " + config.embed_dim + " is not a multiple of num_heads " + config.num_heads);
  expect(config.class_token || !config.global_pool.startsWith("token"), "global_pool \"" + config.global_pool + "\" reads the CLS token, but class_token is off");
  expect(!config.dist_token || config.global_pool === "token", "dist_token needs global_pool \"token\": its head reads the distillation token");
  return withSizes(config);
}

function withSizes(config) {
  const [rows, cols] = config.image_size.map((side, at) => side / config.patch_size[at]);
  const head_dim = config.embed_dim / config.num_heads;
  const num_prefix_tokens = Number(config.class_token) + Number(config.dist_token) + config.reg_tokens;
  return { ...config, rows, cols, num_patches: rows * cols, num_prefix_tokens, num_tokens: num_prefix_tokens + rows * cols, head_dim,
    pooled_dim: config.embed_dim * (config.global_pool === "token_avg" ? 2 : 1), rotary: rotaryOf(config.rotary, head_dim) };
}

/** @returns {Rotary|null} */
function rotaryOf(value, head_dim) {
  if (value === null) return null;
  expect(typeof value === "object" && Object.keys(value).every((name) => Object.hasOwn(ROTARY, name)), "rotary must have a kind, got " + short(value));
  const rotary = { ...ROTARY, ...value };
  const good = ["normalised", "axial", "mixed"].includes(rotary.kind) && isNumber(rotary.temperature, 1, 1e9) && ["yx", "xy"].includes(rotary.order)
    && isNumber(rotary.offset, -MOST, MOST) && (rotary.reference === null || isSides(rotary.reference));
  expect(good, "rotary has a kind, an order and numbers that vitviz does not know: " + short(value));
  expect(head_dim % 4 === 0, "rotary needs heads of a multiple of 4 channels, half of them for each axis, got " + head_dim);
  return /** @type {any} */ (rotary);
}

/**
 * The switches of a config that this engine does not know: such a model is the server's. [] for one that runs here.
 * @param {Config} config
 * @returns {string[]}
 */
export function unknownSwitches(config) {
  return Object.keys(SUPPORTED).filter((name) => !SUPPORTED[name].includes(config[name]));
}
