/**
 * Saved: a pass that was computed in this page as the file that `Analysis.load` reads; see
 * vitviz/probe/saved.py.
 */

import { normalised } from "../maths/pixels.js";
import { expectTensor, joined, toFloat32, writeSafetensors } from "../maths/safetensors.js";

const [VERSION, OPERATED] = [1, 2];

/**
 * @param {import("./localpayload.js").Found} found  of more than the answer
 * @param {Pick<import("../types.js").Manifest, "model"|"photo">} manifest
 * @param {import("./localpayload.js").Known} known
 * @param {{crop?: Uint8Array|null, whole?: Uint8Array|null, frame?: number[],
 *   notes?: import("./decoding.js").Told[]}} own  of a photo that never left the page
 * @returns {ArrayBuffer}
 */
export function savedOf(
  found,
  { model, photo },
  { facts, described, tensors: weights },
  { crop, whole, frame, notes = [] } = {},
) {
  const { config } = facts;
  const { depth, num_heads: heads, num_tokens: tokens, head_dim: dim, embed_dim: width } = config;
  const { num_prefix_tokens: prefix } = config;
  const [ph, pw] = config.patch_size;
  const { height, width: across, channels } = model.image;
  const layers = /** @type {import("../engine/vit.js").Looked[]} */ (found.layers);
  const looked = (name) => ({
    shape: [depth, heads, tokens, dim],
    data: joined(layers.map((layer) => layer[name])),
  });
  /** @type {Record<string, {shape: number[], data: Uint8Array|Float32Array}>} */
  const tensors = {
    picture: { shape: [height, across, channels], data: found.picture },
    pixels: { shape: [channels, height, across], data: normalised(facts, found.picture) },
    q: looked("q"),
    k: looked("k"),
    v: looked("v"),
    tokens: { shape: [depth + 1, tokens, width], data: joined(found.tokens) },
    logits: { shape: [found.logits.length], data: found.logits },
  };
  if (found.lens) tensors.lens = { shape: [depth, config.num_classes], data: joined(found.lens) };
  const tables = layers.map(({ bias }) => bias.bias).filter(Boolean);
  if (tables.length > 0)
    tensors.bias = { shape: [depth, ...tables[0].shape], data: joined(tables.map(({ data }) => data)) };
  if (config.pos_embed) {
    const count = config.pos_embed_prefix ? prefix : 0;
    const rows = toFloat32(expectTensor(weights, "pos_embed", [1, count + tokens - prefix, width]));
    tensors["positions.prefix"] = { shape: [count, width], data: rows.subarray(0, count * width) };
    tensors["positions.patches"] = { shape: [tokens - prefix, width], data: rows.subarray(count * width) };
  }
  if (found.embedding && facts.filters && facts.filterBias) {
    const { length: most } = facts.filterBias;
    Object.assign(tensors, {
      "embedding.filters": { shape: [most, channels, ph, pw], data: facts.filters },
      "embedding.bias": { shape: [most], data: facts.filterBias },
      "embedding.content": { shape: [tokens, most], data: found.embedding.content },
      "embedding.position": { shape: [tokens, most], data: found.embedding.position },
    });
  }
  for (const [name, bytes] of Object.entries({ crop, whole }))
    if (bytes) tensors["photograph." + name] = { shape: [bytes.length], data: bytes };
  found.donors?.forEach((one, place) => {
    if (one)
      tensors["donor." + place] = {
        shape: [tokens, width],
        data: one.pass.tokens[found.interventions[place].layer],
      };
  });
  const { name, source, num_parameters, head, outputs, temperature, trained } = model;
  const { config: written, preprocess, labels, details, words = {}, messages = {} } = described;
  const told = {
    version: found.interventions.length > 0 ? OPERATED : VERSION,
    card: {
      name,
      source,
      config: written,
      labels,
      num_parameters,
      head,
      outputs,
      temperature,
      details,
      trained,
      resized_from: model.key.image_size && model.trained_size,
      words,
    },
    preprocess,
    grid: { image_size: config.image_size, patch_size: config.patch_size, num_prefix_tokens: prefix },
    scale: model.scale,
    photo_name: photo.name,
    notes: photo.notes,
    inverted: photo.inverted,
    frame: frame ?? null,
    messages: {
      ...messages,
      ...Object.fromEntries(notes.map((told, at) => [photo.notes[at], messageOf(told)])),
    },
    ...(found.interventions.length > 0 ? { interventions: found.interventions } : {}),
  };
  return writeSafetensors(tensors, { "vitviz analysis": JSON.stringify(told) });
}

/**
 * A text of photo.json as vitviz/languages keeps one in a file.
 * @param {import("./decoding.js").Told} told
 */
const messageOf = ({ key, values }) => ({ key: "photo." + key, values });
