/** The film of a training: maps and predictions of a model at some moments of it, on the same pictures. */

import { FormatError, expectTensor, parseSafetensors, readMetadata, toFloat32 } from "../maths/safetensors.js";

const KEY = "vitviz_film";
const VERSION = 1;

/**
 * @typedef {{step: number, epoch: number, images: number, seconds: number, loss: number|null,
 *   top1: number, top5: number}} Moment
 * @typedef {{moments: Moment[], beganWith: string, labels: string[], names: string[], rows: number, cols: number,
 *   prefix: number, tokens: number, patches: number, layers: number, heads: number,
 *   height: number, width: number, channels: number, pixels: Uint8Array, positions: Float32Array|null,
 *   attention: Float32Array, probabilities: Float32Array}} Film  names: of the pictures; positions: if the model learns any
 */

/**
 * Reads what Python's `Film.save` wrote. Throws a FormatError if it is not a complete film.
 * @param {ArrayBuffer} buffer
 * @returns {Film}
 */
export function readFilm(buffer) {
  const facts = factsOf(buffer);
  const tensors = parseSafetensors(buffer);
  const { rows, cols, num_prefix_tokens: prefix, labels, moments } = facts;
  const names = facts.pictures.map((picture) => String(picture.name));
  const [patches, count, pictures] = [rows * cols, moments.length, names.length];
  const tokens = prefix + patches;
  const [, , layers, heads] = tensors.attention?.shape ?? [];
  const [, height, width, channels] = tensors.pixels?.shape ?? [];
  if (!(count > 0 && pictures > 0 && patches > 0)) throw new FormatError("a film without moments or pictures");
  const numbers = (name, shape) => toFloat32(expectTensor(tensors, name, shape));
  return {
    moments, beganWith: String(facts.began_with ?? ""), labels: labels.map(String), names,
    rows, cols, prefix, tokens, patches, layers, heads, height, width, channels,
    pixels: expectTensor(tensors, "pixels", [pictures, height, width, channels]).data,
    positions: tensors.positions ? numbers("positions", [count, patches, patches]) : null,
    attention: numbers("attention", [count, pictures, layers, heads, tokens]),
    probabilities: numbers("probabilities", [count, pictures, labels.length]),
  };
}

function factsOf(buffer) {
  let facts;
  try {
    facts = JSON.parse(readMetadata(buffer)[KEY]);
  } catch (error) {
    throw new FormatError("not a film of a training: " + error.message);
  }
  const lists = ["labels", "pictures", "moments"].every((name) => Array.isArray(facts?.[name]) && !facts[name].includes(null));
  if (facts?.version !== VERSION || !lists) throw new FormatError("a film of another version: " + facts?.version);
  return facts;
}

/**
 * The bytes of one picture. (h, w, C)
 * @param {Film} film
 * @param {number} picture
 * @returns {Uint8Array}
 */
export function pixelsOf({ pixels, height, width, channels }, picture) {
  const size = height * width * channels;
  return pixels.subarray(picture * size, (picture + 1) * size);
}

/**
 * Cosine similarity of the position of a patch to all others, at a moment. (P)
 * @param {Film} film
 * @param {number} moment
 * @param {number} patch
 * @returns {Float32Array}
 */
export function similarityAt({ positions, patches }, moment, patch) {
  const start = (moment * patches + patch) * patches;
  return positions.subarray(start, start + patches);
}

/**
 * Attention from CLS in a picture, of one head or of the mean of a layer's heads. (N)
 * @param {Film} film
 * @param {number} moment
 * @param {number} picture
 * @param {number} layer
 * @param {number|"mean"} head
 * @returns {Float32Array}
 */
export function attentionAt({ attention, names, layers, heads, tokens }, moment, picture, layer, head) {
  const start = ((moment * names.length + picture) * layers + layer) * heads * tokens;
  if (head !== "mean") return attention.subarray(start + head * tokens, start + (head + 1) * tokens);
  const mean = new Float32Array(tokens);
  for (let i = 0; i < heads * tokens; i++) mean[i % tokens] += attention[start + i] / heads;
  return mean;
}

/**
 * The predictions for a picture, most probable first.
 * @param {Film} film
 * @param {number} moment
 * @param {number} picture
 * @param {number} most
 * @returns {{label: string, probability: number}[]}
 */
export function answersAt({ probabilities, names, labels }, moment, picture, most) {
  const start = (moment * names.length + picture) * labels.length;
  return labels.map((label, at) => ({ label, probability: probabilities[start + at] }))
    .sort((a, b) => b.probability - a.probability).slice(0, most);
}

/**
 * Whether all classes are equally probable, as before the first step.
 * @param {{probability: number}[]} answers  most probable first
 * @param {number} classes
 * @returns {boolean}
 */
export function knowsNothing([first], classes) {
  return first.probability * classes < 1.02;
}

/**
 * An epoch as an axis writes it: 0, 0.03, 1.5, 24.
 * @param {number} epoch
 * @returns {string}
 */
export function epochText(epoch) {
  return String(Number(epoch < 1 ? epoch.toPrecision(1) : epoch.toFixed(epoch < 10 ? 1 : 0)));
}
