/** Tables that Python and the engine of a page share. Their source is Python. */

// Written by `python -m vitviz.payload.tables`.
/**
 * Forms of the fields of an intervention, and its kind (vitviz/probe/intervene/).
 * @typedef {"number"|"list"|"pairs"|"word"|"factor"|"picture"} Shape
 * @typedef {{shape: Shape, of: string, words: string[], past: number, count: number|null,
 *   needs: Record<string, string>, default: number|string|null}} Form
 * @typedef {{touches: string, example: string, told_by: string, same: string[]|null,
 *   again: boolean, joins: boolean, fields: Record<string, Form>}} Kind
 */

const KIND = { told_by: "", same: null, again: false, joins: false };
const FORM = { of: "", words: [], past: 0, count: null, needs: {}, default: null };

/** The kinds of interventions. @type {Record<string, Kind>} */
export const KINDS = {
  remove: {
    ...KIND, touches: "tokens", example: "{\"kind\": \"remove\", \"patches\": [40, 41]}", joins: true,
    fields: { patches: { ...FORM, shape: "list", of: "patches" } },
  },
  keep: {
    ...KIND, touches: "tokens", example: "{\"kind\": \"keep\", \"patches\": [40, 41]}", joins: true,
    fields: { patches: { ...FORM, shape: "list", of: "patches" } },
  },
  replace: {
    ...KIND, touches: "pixels", example: "{\"kind\": \"replace\", \"patches\": [40], \"by\": \"black\"}",
    told_by: "by", joins: true,
    fields: {
      patches: { ...FORM, shape: "list", of: "patches" },
      by: { ...FORM, shape: "word", words: ["black", "mean", "blur", "noise"] },
      seed: { ...FORM, shape: "number", of: "seeds", default: 0 },
    },
  },
  shuffle: {
    ...KIND, touches: "pixels", example: "{\"kind\": \"shuffle\", \"cells\": 4, \"seed\": 0}", same: [],
    again: true,
    fields: {
      cells: { ...FORM, shape: "number", of: "cells" },
      seed: { ...FORM, shape: "number", of: "seeds", default: 0 },
    },
  },
  swap: {
    ...KIND, touches: "pixels", example: "{\"kind\": \"swap\", \"patches\": [3, 77]}",
    fields: { patches: { ...FORM, shape: "list", of: "patches", count: 2 } },
  },
  perturb: {
    ...KIND, touches: "pixels",
    example: "{\"kind\": \"perturb\", \"target\": \"away\", \"epsilon\": 4, \"steps\": 8}", told_by: "target",
    same: [],
    fields: {
      target: { ...FORM, shape: "number", of: "classes", words: ["away", "random"], default: "away" },
      epsilon: { ...FORM, shape: "number", of: "levels", default: 4 },
      steps: { ...FORM, shape: "number", of: "steps", default: 8 },
      seed: { ...FORM, shape: "number", of: "seeds", default: 0 },
    },
  },
  positions: {
    ...KIND, touches: "tokens", example: "{\"kind\": \"positions\", \"by\": \"off\"}", told_by: "by", same: [],
    fields: {
      by: {
        ...FORM, shape: "word", words: ["off", "shuffled", "learned off", "rotary off"],
        needs: {
          off: "positions", shuffled: "positions", "learned off": "learned positions",
          "rotary off": "rotary positions",
        },
      },
      seed: { ...FORM, shape: "number", of: "seeds", default: 0 },
    },
  },
  head: {
    ...KIND, touches: "heads", example: "{\"kind\": \"head\", \"layer\": 2, \"head\": 3, \"by\": \"zero\"}",
    told_by: "by", same: ["layer", "head"],
    fields: {
      layer: { ...FORM, shape: "number", of: "layers" }, head: { ...FORM, shape: "number", of: "heads" },
      by: { ...FORM, shape: "word", words: ["zero", "mean"], default: "zero" },
    },
  },
  branch: {
    ...KIND, touches: "heads", example: "{\"kind\": \"branch\", \"layer\": 2, \"branch\": \"mlp\"}",
    told_by: "branch", same: ["layer", "branch"],
    fields: {
      layer: { ...FORM, shape: "number", of: "layers" },
      branch: { ...FORM, shape: "word", words: ["attention", "mlp"] },
    },
  },
  cut: {
    ...KIND, touches: "edges",
    example: "{\"kind\": \"cut\", \"edges\": \"patches to prefix\", \"layers\": [0, 1], \"heads\": \"all\"}",
    told_by: "edges",
    fields: {
      edges: {
        ...FORM, shape: "pairs", of: "tokens",
        words: ["patches to prefix", "prefix to patches", "patches to others"],
        needs: { "patches to prefix": "prefix", "prefix to patches": "prefix" },
      },
      layers: { ...FORM, shape: "list", of: "layers", words: ["all"], default: "all" },
      heads: { ...FORM, shape: "list", of: "heads", words: ["all"], default: "all" },
    },
  },
  even: {
    ...KIND, touches: "edges", example: "{\"kind\": \"even\", \"rows\": \"cls\", \"layers\": [5]}",
    told_by: "rows",
    fields: {
      rows: { ...FORM, shape: "word", words: ["cls", "patches", "all"], needs: { cls: "cls" } },
      layers: { ...FORM, shape: "list", of: "layers", words: ["all"], default: "all" },
    },
  },
  scramble: {
    ...KIND, touches: "edges",
    example: "{\"kind\": \"scramble\", \"rows\": \"patches\", \"layers\": [5], \"seed\": 0}",
    fields: {
      rows: { ...FORM, shape: "word", words: ["patches"], default: "patches" },
      layers: { ...FORM, shape: "list", of: "layers", words: ["all"], default: "all" },
      seed: { ...FORM, shape: "number", of: "seeds", default: 0 },
    },
  },
  transplant: {
    ...KIND, touches: "tokens",
    example: "{\"kind\": \"transplant\", \"patches\": \"cls\", \"layer\": 3, \"from\": an analysis}",
    told_by: "patches",
    fields: {
      patches: { ...FORM, shape: "list", of: "patches", words: ["cls", "all"], needs: { cls: "cls" } },
      layer: { ...FORM, shape: "number", of: "layers", past: 1 }, from: { ...FORM, shape: "picture" },
    },
  },
  add: {
    ...KIND, touches: "tokens",
    example: "{\"kind\": \"add\", \"patches\": \"cls\", \"layer\": 3, \"toward\": 7, \"factor\": 0.5}",
    told_by: "patches", same: ["patches", "layer", "toward"], again: true,
    fields: {
      patches: { ...FORM, shape: "list", of: "patches", words: ["cls", "all"], needs: { cls: "cls" } },
      layer: { ...FORM, shape: "number", of: "layers" }, toward: { ...FORM, shape: "number", of: "classes" },
      factor: { ...FORM, shape: "factor" },
    },
  },
};

/**
 * Requirements of a word of a field: the model's config must have one of these fields set.
 * error: the text of experiments.json for a model that has none.
 * @type {Record<string, {fields: string[], error: string}>}
 */
export const NEEDS = {
  prefix: { fields: ["class_token", "dist_token", "reg_tokens"], error: "no_prefix" },
  cls: { fields: ["class_token"], error: "no_prefix" },
  positions: { fields: ["pos_embed", "rotary", "relative_bias"], error: "no_positions" },
  "learned positions": { fields: ["pos_embed"], error: "no_positions" },
  "rotary positions": { fields: ["rotary"], error: "no_positions" },
};

/** The field of a config that bounds the numbers of a field. @type {Record<string, string>} */
export const COUNTS = {
  patches: "num_patches", tokens: "num_tokens", layers: "depth", heads: "num_heads",
  classes: "num_classes",
};

/**
 * Bounds. interventions: in a pass; pairs: of tokens in an intervention; number: each number in it;
 * named: patches in a caption; donor_side: pixels; levels, fooling_steps: of `perturb`, which ends
 * at this lead of probability; factor: of `add`; gap: of a map that counts as adding up; config: of
 * every size and count in a config; parameters, tokens: of a model that runs in a page; kept:
 * numbers that are kept of its pass; rollout_tokens: of a model whose rollout a browser computes.
 */
export const LIMITS = {
  interventions: 64, pairs: 4096, number: 2147483647, named: 6, donor_side: 72, hidden_units: 16, levels: 8,
  fooling_steps: 32, factor: 100, lead: 0.05, gap: 0.05, config: 65536, parameters: 25000000, tokens: 1400,
  kept: 67108864, rollout_tokens: 400, photo_bytes: 32000000, photo_pixels: 64000000,
};

/**
 * Supported values of a config's switches, for switches that this engine does not fully support.
 * @type {Record<string, any[]>}
 */
export const SUPPORTED = { patch_norm_before: [false], patch_norm_after: [false] };

/**
 * Values of a field of a config. default: null if it follows from other fields, or if a model need
 * not have it; absent if the field is required.
 * @typedef {{default?: any, holds: "sides"|"count"|"number"|"word"|"switch"|"rotary",
 *   least?: number, most?: number, words?: string[]}} Setting
 */

/** A config (vitviz/model/config.py). @type {Record<string, Setting>} */
export const CONFIG = {
  image_size: { default: [224, 224], holds: "sides" }, patch_size: { default: [16, 16], holds: "sides" },
  in_chans: { default: 3, holds: "count", least: 1 }, num_classes: { default: 1000, holds: "count", least: 0 },
  embed_dim: { default: 768, holds: "count", least: 1 }, depth: { default: 12, holds: "count", least: 1 },
  num_heads: { default: 12, holds: "count", least: 1 },
  mlp_hidden_dim: { default: null, holds: "count", least: 1 }, class_token: { default: true, holds: "switch" },
  dist_token: { default: false, holds: "switch" }, reg_tokens: { default: 0, holds: "count", least: 0 },
  pos_embed: { default: true, holds: "switch" }, pos_embed_prefix: { default: true, holds: "switch" },
  rotary: { default: null, holds: "rotary" }, relative_bias: { default: false, holds: "switch" },
  patch_bias: { default: true, holds: "switch" }, patch_norm_before: { default: false, holds: "switch" },
  patch_norm_after: { default: false, holds: "switch" },
  norm: { default: "layernorm", holds: "word", words: ["layernorm", "rmsnorm"] },
  norm_eps: { default: 1e-06, holds: "number", least: 1e-30, most: 1 },
  norm_pre: { default: false, holds: "switch" },
  final_norm: { default: "before_pool", holds: "word", words: ["before_pool", "after_pool", "none"] },
  post_norm: { default: false, holds: "switch" }, qkv_bias: { default: true, holds: "switch" },
  qk_norm: { default: false, holds: "switch" }, attn_norm: { default: false, holds: "switch" },
  proj_bias: { default: true, holds: "switch" }, layer_scale: { default: false, holds: "switch" },
  mlp: { default: "mlp", holds: "word", words: ["mlp", "swiglu", "swiglu_packed"] },
  mlp_norm: { default: false, holds: "switch" },
  activation: { default: "gelu", holds: "word", words: ["gelu", "gelu_tanh", "quick_gelu", "silu"] },
  global_pool: { default: "token", holds: "word", words: ["token", "avg", "token_avg", "map", ""] },
  pool_prefix: { default: false, holds: "switch" }, pool_heads: { default: null, holds: "count", least: 1 },
  pool_hidden_dim: { default: null, holds: "count", least: 1 },
};

/** Its rotary positions. @type {Record<string, Setting>} */
export const ROTARY = {
  kind: { holds: "word", words: ["normalised", "axial", "mixed"] },
  temperature: { default: 100.0, holds: "number", least: 1, most: 1000000000.0 },
  order: { default: "yx", holds: "word", words: ["yx", "xy"] },
  offset: { default: 0.0, holds: "number", least: -65536, most: 65536 },
  reference: { default: null, holds: "sides" },
};

/** The explainers that this engine computes (explain.js). @type {string[]} */
export const EXPLAINER_KEYS = [
  "attention", "rollout", "attention_norm", "attention_gradient", "generic", "gradient_rollout", "grad_cam",
  "occlusion", "integrated_gradients", "centre", "random",
];

/** Strength of the L2 penalty of a head that is taught (vitviz/many/linear.py). */
export const PENALTY = 0.03;

/** Most groups of pictures that are left out of it in turn. */
export const FOLDS = 10;

/**
 * Kinds of files that are no picture (vitviz/model/photo_kinds.py), with the ends of their keys in
 * photo.json. head: bytes that are looked at; placed: place, from the end if negative, and bytes
 * there; within: anywhere in the head, in lower case; heic: brands; beginnings: in lower case;
 * damaged: of a format.
 * @type {{head: number, placed: [number, string, string][], within: [string, string][],
 *   heic: string[], beginnings: [string, string][], damaged: [string, string][]}}
 */
export const FILE_KINDS = {
  head: 512,
  placed: [
    [128, "DICM", "dicom"], [344, "n+1\u0000", "nifti"], [344, "ni1\u0000", "nifti"], [0, "\u00ff\n", "jpeg_xl"],
    [0, "\u0000\u0000\u0000\fJXL ", "jpeg_xl"], [0, "\u0093NUMPY", "array"], [0, "v/1\u0001", "exr"],
    [0, "#?RADIANCE", "exr"], [0, "\u0089HDF\r\n", "hdf"], [0, "FUJIFILMCCD-RAW", "raw"],
    [-18, "TRUEVISION-XFILE", "tga"], [5, "\u0000\u0000\u0000{\"", "weights"],
  ],
  within: [["<svg", "svg"], ["/data.pkl", "weights"]],
  heic: ["heic", "heix", "hevc", "heim", "heis", "mif1", "msf1"],
  beginnings: [
    ["<!doctype html", "web_page"], ["<html", "web_page"], ["%pdf", "pdf"], ["%!ps", "postscript"],
    ["pk\u0003\u0004", "zip"], ["\u001f\u008b", "archive"], ["8bps", "photoshop"],
    ["\u0000\u0000\u0001\u0000", "icon"], ["riff", "riff"],
  ],
  damaged: [["\u00ff\u00d8\u00ff", "JPEG"], ["\u0089png", "PNG"], ["gif8", "GIF"]],
};
