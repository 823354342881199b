/**
 * Weights: reads the config and the parameters of a checkpoint, from the same file that Python reads.
 */

import { FormatError, parseSafetensors, readMetadata, readShapes, toFloat32 } from "../maths/safetensors.js";
import { readConfig, unknownSwitches } from "./config.js";
import { LIMITS } from "./tables.js";

/**
 * A model from a file. `weights`: by the names of vitviz/model/vit.py; `unknown`: switches that this engine
 * does not support, so that the server has to run the model; `preprocess`, `labels`, `details` and `words`:
 * as vitviz/model/checkpoints.py wrote them.
 * @typedef {{config: import("./config.js").Config, preprocess: any, labels: string[]|null,
 *   details: Record<string, string>,
 *   words: any, outputs: string, unknown: string[], weights: Record<string, Float32Array>}} Model
 */

/**
 * The model in a checkpoint. Throws a FormatError for a file that is damaged or not of vitviz, before memory
 * is allocated for it.
 * @param {ArrayBuffer} buffer
 * @returns {Model}
 */
export function readModel(buffer) {
  const text = readMetadata(buffer).vitviz;
  if (typeof text !== "string")
    throw new FormatError(
      "this .safetensors file does not say which model it is; vitviz writes that into its own",
    );
  const meta = described(text);
  const config = readConfig(meta.config);
  const { labels = null, details = {}, words = {}, preprocess, outputs = "" } = meta;
  const why =
    preprocessingFault(preprocess, config) ??
    (labels === null ||
    (Array.isArray(labels) &&
      labels.length === config.num_classes &&
      labels.every((label) => typeof label === "string"))
      ? null
      : "it does not name its " + config.num_classes + " classes");
  if (why) throw new FormatError("the description inside the file is damaged: " + why);
  const unknown = unknownSwitches(config);
  const weights = unknown.length > 0 ? {} : parametersOf(buffer, config);
  return { config, preprocess, labels, details, words, outputs, unknown, weights };
}

/** The fault of a checkpoint's preprocessing, as the end of a sentence; null: none. @returns {string|null} */
function preprocessingFault(preprocess, { in_chans: channels, image_size, patch_size }) {
  const { mean, std, size } = preprocess ?? {};
  const are = (values, count, least) =>
    Array.isArray(values) &&
    values.length === count &&
    values.every((value) => typeof value === "number" && Math.abs(value) <= 1000 && value >= least);
  if (!are(mean, channels, -1000) || !are(std, channels, 0.001))
    return "mean and std need one number for each of " + channels + " channels";
  // A margin narrower than a patch may be left over.
  const fits =
    Array.isArray(size) &&
    size.length === 2 &&
    size.every((side, at) => side >= image_size[at] && side < image_size[at] + patch_size[at]);
  return fits
    ? null
    : "its preprocessing makes pictures of " +
        JSON.stringify(size) +
        ", but its config says [" +
        image_size +
        "]";
}

function described(text) {
  try {
    const meta = JSON.parse(text);
    if (meta !== null && typeof meta === "object") return meta;
  } catch (error) {
    throw new FormatError("the description inside the file is damaged: " + error.message);
  }
  throw new FormatError("the description inside the file is damaged: it is no dictionary");
}

/** @returns {Record<string, Float32Array>} */
function parametersOf(buffer, config) {
  if (config.depth > buffer.byteLength / 100)
    throw new FormatError("the weights do not fit: the file is too small for " + config.depth + " blocks");
  const wanted = shapesOf(config);
  const count = (shape) => shape.reduce((product, side) => product * side, 1);
  const total = Object.values(wanted).reduce((sum, shape) => sum + count(shape), 0);
  if (total > LIMITS.parameters)
    throw new FormatError(
      "this model has " + total + " parameters; a page runs models of at most " + LIMITS.parameters,
    );
  if (config.num_tokens > LIMITS.tokens)
    throw new FormatError(
      "this model has " + config.num_tokens + " tokens; a page runs models of at most " + LIMITS.tokens,
    );
  const kept = 4 * (config.depth + 1) * config.num_tokens * config.embed_dim;
  if (kept > LIMITS.kept)
    throw new FormatError(
      "a pass of this model leaves " + kept + " numbers behind; a page keeps at most " + LIMITS.kept,
    );
  const found = readShapes(buffer);
  const wrong = [
    ...Object.keys(wanted)
      .filter((name) => !found.has(name))
      .map((name) => name + " is missing"),
    ...[...found.keys()]
      .filter((name) => !Object.hasOwn(wanted, name))
      .map((name) => name + " is not expected"),
    ...Object.entries(wanted)
      .filter(([name, shape]) => found.has(name) && String(found.get(name)) !== String(shape))
      .map(([name, shape]) => name + " has shape [" + found.get(name) + "] instead of [" + shape + "]"),
  ];
  if (wrong.length > 0)
    throw new FormatError(
      "the weights do not fit: " +
        wrong.slice(0, 5).join("; ") +
        (wrong.length > 5 ? " and " + (wrong.length - 5) + " more" : ""),
    );
  return Object.fromEntries(
    Object.entries(parseSafetensors(buffer)).map(([name, tensor]) => {
      const numbers = toFloat32(tensor);
      if (!numbers.every(Number.isFinite))
        throw new FormatError("the weights are damaged: " + name + " holds values that are not finite");
      return [name, numbers];
    }),
  );
}

/**
 * The shape of every parameter, by the names of vitviz/model/vit.py.
 * @param {import("./config.js").Config} c
 * @returns {Record<string, number[]>}
 */
export function shapesOf(c) {
  const [dim, hidden] = [c.embed_dim, c.mlp_hidden_dim];
  const shapes = {};
  const linear = (name, out, into, bias = true) => {
    shapes[name + ".weight"] = [out, into];
    if (bias) shapes[name + ".bias"] = [out];
  };
  const norm = (there, name, width = dim) => {
    if (there) shapes[name + ".weight"] = [width];
    if (there && c.norm === "layernorm") shapes[name + ".bias"] = [width];
  };
  linear("patch_embed.proj", dim, 0, c.patch_bias);
  shapes["patch_embed.proj.weight"] = [dim, c.in_chans, ...c.patch_size];
  for (const [name, count] of Object.entries({
    cls_token: Number(c.class_token),
    dist_token: Number(c.dist_token),
    reg_token: c.reg_tokens,
    pos_embed: c.pos_embed ? (c.pos_embed_prefix ? c.num_tokens : c.num_patches) : 0,
  }))
    if (count > 0) shapes[name] = [1, count, dim];
  norm(c.norm_pre, "norm_pre");
  for (let layer = 0; layer < c.depth; layer++) {
    const block = "blocks." + layer + ".";
    norm(true, block + "norm1");
    linear(block + "attn.qkv", 3 * dim, dim, c.qkv_bias);
    norm(c.qk_norm, block + "attn.q_norm", c.head_dim);
    norm(c.qk_norm, block + "attn.k_norm", c.head_dim);
    if (c.rotary?.kind === "mixed") shapes[block + "attn.angles.freqs"] = [2, c.num_heads, c.head_dim / 2];
    if (c.relative_bias)
      shapes[block + "attn.score_bias.relative.table"] = [
        (2 * c.rows - 1) * (2 * c.cols - 1) + 3,
        c.num_heads,
      ];
    norm(c.attn_norm, block + "attn.norm");
    linear(block + "attn.proj", dim, dim, c.proj_bias);
    norm(true, block + "norm2");
    const gates = { mlp: ["fc1"], swiglu: ["fc1_g", "fc1_x"], swiglu_packed: ["fc1"] }[c.mlp];
    for (const gate of gates)
      linear(block + "mlp." + gate, c.mlp === "swiglu_packed" ? 2 * hidden : hidden, dim, c.proj_bias);
    norm(c.mlp_norm, block + "mlp.norm", hidden);
    linear(block + "mlp.fc2", dim, hidden, c.proj_bias);
    if (c.layer_scale) for (const scale of ["ls1.gamma", "ls2.gamma"]) shapes[block + scale] = [dim];
  }
  norm(c.final_norm === "before_pool", "norm");
  if (c.global_pool === "map") {
    shapes["attn_pool.latent"] = [1, 1, dim];
    linear("attn_pool.q", dim, dim);
    linear("attn_pool.kv", 2 * dim, dim);
    linear("attn_pool.proj", dim, dim);
    norm(true, "attn_pool.norm");
    linear("attn_pool.mlp.fc1", c.pool_hidden_dim, dim, c.proj_bias);
    norm(c.mlp_norm, "attn_pool.mlp.norm", c.pool_hidden_dim);
    linear("attn_pool.mlp.fc2", dim, c.pool_hidden_dim, c.proj_bias);
  }
  norm(c.final_norm === "after_pool", "fc_norm", c.pooled_dim);
  if (c.num_classes > 0)
    for (const head of c.dist_token ? ["head", "head_dist"] : ["head"])
      linear(head, c.num_classes, c.pooled_dim);
  return shapes;
}
