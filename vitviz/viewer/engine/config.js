/**
 * Config: every choice that makes one Vision Transformer differ from another, as in vitviz/model/config.py.
 */

import { FormatError } from "../maths/safetensors.js";
import { CONFIG, LIMITS, ROTARY, SUPPORTED } from "./tables.js";

/**
 * @typedef {{kind: "normalised"|"axial"|"mixed", temperature: number, order: "yx"|"xy", offset: number,
 *   reference: [number, number]|null}} Rotary
 * @typedef {{
 *   image_size: [number, number], patch_size: [number, number], in_chans: number, num_classes: number,
 *     embed_dim: number, depth: number,
 *   num_heads: number, mlp_hidden_dim: number, class_token: boolean, dist_token: boolean, reg_tokens: number,
 *     pos_embed: boolean,
 *   pos_embed_prefix: boolean, rotary: Rotary|null, patch_bias: boolean, norm_eps: number, norm_pre: boolean,
 *     final_norm: string,
 *   qkv_bias: boolean, qk_norm: boolean, attn_norm: boolean, proj_bias: boolean, layer_scale: boolean,
 *   norm: string, post_norm: boolean, mlp: string, mlp_norm: boolean,
 *   activation: string, global_pool: string, pool_prefix: boolean, pool_heads: number, pool_hidden_dim: number,
 *   rows: number, cols: number,
 *   num_patches: number,
 *   num_prefix_tokens: number, num_tokens: number, head_dim: number, pooled_dim: number, [name: string]: any,
 * }} Config
 *   the fields of Python, and the sizes that follow from them: the grid, the number of tokens
 */

/** @typedef {import("./tables.js").Setting} Setting */

const isNumber = (value, least, most) => typeof value === "number" && value >= least && value <= most;
const isWhole = (value, least) => Number.isInteger(value) && isNumber(value, least, LIMITS.config);
const isSides = (value) =>
  Array.isArray(value) && value.length === 2 && value.every((side) => isWhole(side, 1));

/**
 * Types of fields. fits: whether a value is valid; wanted: the end of the sentence "... must be".
 * @type
 *   {Record<Setting["holds"], {fits: (value: any, setting: any) => boolean, wanted: (setting: any) =>
 *   string}>}
 */
const HOLDS = {
  sides: { fits: isSides, wanted: () => "height and width from 1 to " + LIMITS.config + " pixels" },
  count: {
    fits: (value, { least }) => isWhole(value, least),
    wanted: ({ least }) => "a whole number from " + least + " to " + LIMITS.config,
  },
  number: {
    fits: (value, { least, most }) => isNumber(value, least, most),
    wanted: ({ least, most }) => "a number from " + least + " to " + most,
  },
  word: {
    fits: (value, { words }) => words.includes(value),
    wanted: ({ words }) => "one of " + words.join(", "),
  },
  switch: { fits: (value) => typeof value === "boolean", wanted: () => "true or false" },
  rotary: { fits: () => true, wanted: () => "" }, // `rotaryOf` checks it
};

/** @param {Setting} setting */
const fits = (value, setting) =>
  (value === null && setting.default === null) || HOLDS[setting.holds].fits(value, setting);

/**
 * Values, with defaults for missing ones.
 * @param {Record<string, Setting>} settings
 * @returns {any}
 */
const withDefaults = (settings, values) => ({
  ...Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, setting.default])),
  ...values,
});

/** A value of a file, cut to a length that a sentence can quote. */
const short = (value) => String(JSON.stringify(value)).slice(0, 80);

function expect(good, sentence) {
  if (!good) throw new FormatError(sentence);
}

/**
 * Read the config in a checkpoint. Throws a FormatError for a config that makes no model.
 * @param {any} values  as `ViTConfig.to_dict` wrote them
 * @returns {Config}
 */
export function readConfig(values) {
  expect(
    values !== null && typeof values === "object" && !Array.isArray(values),
    "a model's config must be a dictionary, got " + short(values),
  );
  const unknown = Object.keys(values)
    .filter((name) => !Object.hasOwn(CONFIG, name))
    .sort();
  expect(
    unknown.length === 0,
    "the model's config has fields that vitviz does not know: " + unknown.slice(0, 5).join(", "),
  );
  const config = withDefaults(CONFIG, values);
  config.mlp_hidden_dim ??= 4 * config.embed_dim;
  config.pool_heads ??= config.num_heads;
  config.pool_hidden_dim ??= config.mlp_hidden_dim;
  for (const [name, setting] of Object.entries(CONFIG)) {
    if (setting.holds === "sides" && isWhole(config[name], 1)) config[name] = [config[name], config[name]];
    expect(
      fits(config[name], setting),
      name + " must be " + HOLDS[setting.holds].wanted(setting) + ", got " + short(config[name]),
    );
  }
  for (const [at, axis] of ["height", "width"].entries()) {
    const [size, patch] = [config.image_size[at], config.patch_size[at]];
    expect(
      size % patch === 0,
      "image_size: the " + axis + " " + size + " is not a multiple of the patch's " + patch,
    );
  }
  for (const name of ["num_heads", "pool_heads"])
    expect(
      config.embed_dim % config[name] === 0,
      "embed_dim " + config.embed_dim + " is not a multiple of " + name + " " + config[name],
    );
  expect(
    config.class_token || !config.global_pool.startsWith("token"),
    'global_pool "' + config.global_pool + '" reads the CLS token, but class_token is off',
  );
  expect(
    !config.dist_token || config.global_pool === "token",
    'dist_token needs global_pool "token": its head reads the distillation token',
  );
  expect(
    !config.relative_bias || (config.class_token && !config.dist_token && config.reg_tokens === 0),
    "relative_bias is of CLS and the patches: it needs no more, no less",
  );
  return withSizes(config);
}

function withSizes(config) {
  const [rows, cols] = config.image_size.map((side, at) => side / config.patch_size[at]);
  const head_dim = config.embed_dim / config.num_heads;
  const num_prefix_tokens = Number(config.class_token) + Number(config.dist_token) + config.reg_tokens;
  return {
    ...config,
    rows,
    cols,
    num_patches: rows * cols,
    num_prefix_tokens,
    num_tokens: num_prefix_tokens + rows * cols,
    head_dim,
    pooled_dim: config.embed_dim * (config.global_pool === "token_avg" ? 2 : 1),
    rotary: rotaryOf(config.rotary, head_dim),
  };
}

/** @returns {Rotary|null} */
function rotaryOf(value, head_dim) {
  if (value === null) return null;
  expect(
    typeof value === "object" && Object.keys(value).every((name) => Object.hasOwn(ROTARY, name)),
    "rotary must have a kind, got " + short(value),
  );
  const rotary = withDefaults(ROTARY, value);
  const good = Object.entries(ROTARY).every(([name, setting]) => fits(rotary[name], setting));
  expect(good, "rotary has a kind, an order and numbers that vitviz does not know: " + short(value));
  expect(
    head_dim % 4 === 0,
    "rotary needs heads of a multiple of 4 channels, half of them for each axis, got " + head_dim,
  );
  return /** @type {any} */ (rotary);
}

/**
 * Names of the switches of a config that this engine does not support; [] for a model that it can run. Others
 * need the server.
 * @param {Config} config
 * @returns {string[]}
 */
export function unknownSwitches(config) {
  return Object.keys(SUPPORTED).filter((name) => !SUPPORTED[name].includes(config[name]));
}
