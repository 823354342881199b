/** Patch embedding: its filters as pictures, and a token's numbers before and after positions are added. */

import { largestSize, toRgba } from "./colour.js";
import { expectTensor, parseSafetensors, toFloat32 } from "./safetensors.js";

/**
 * The first F numbers of every token, and the filters that make them.
 * @typedef {{filters: Float32Array, bias: Float32Array, content: Float32Array,
 *   position: Float32Array, count: number}} Embedding
 *   filters (F * C * ph * pw), bias (F), content and position (N * F); count: F
 */

/** @returns {Embedding} */
export function readEmbedding(buffer, manifest) {
  const tensors = parseSafetensors(buffer);
  const { num_tokens: tokens, image, grid } = manifest.model;
  const count = tensors.bias?.data.length ?? 0;
  const read = (name, ...shape) => toFloat32(expectTensor(tensors, name, shape));
  return {
    filters: read("filters", count, image.channels, grid.patch_height, grid.patch_width),
    bias: read("bias", count),
    content: read("content", tokens, count),
    position: read("position", tokens, count),
    count,
  };
}

/**
 * The first principal components of all filters, and the share of the variance of each, from 0 to 1.
 * @typedef {{filters: Float32Array, shares: Float32Array, count: number}} Components  filters: as in an
 *   Embedding
 */

/** @returns {Components} */
export function readComponents(buffer, { model: { image, grid } }) {
  const tensors = parseSafetensors(buffer);
  const count = tensors.shares?.data.length ?? 0;
  const read = (name, ...shape) => toFloat32(expectTensor(tensors, name, [count, ...shape]));
  return {
    filters: read("components", image.channels, grid.patch_height, grid.patch_width),
    shares: read("shares"),
    count,
  };
}

/**
 * A token before the first block: content + position = sum.
 * @param {Embedding} embedding
 * @param {number} token
 * @returns {{content: Float32Array, position: Float32Array, sum: Float32Array}}  (F) each
 */
export function embeddedToken({ content, position, count }, token) {
  const part = (values) => values.subarray(token * count, (token + 1) * count);
  const [before, place] = [part(content), part(position)];
  return { content: before, position: place, sum: before.map((value, i) => value + place[i]) };
}

/**
 * A filter as a picture: a weight of 0 is grey, the largest weight is full colour.
 * @param {{filters: Float32Array, count: number}} embedding
 * @param {number} index
 * @param {{channels: number}} image
 * @returns {Uint8ClampedArray<ArrayBuffer>}  (ph, pw, 4)
 */
export function filterPicture({ filters, count }, index, { channels }) {
  const size = filters.length / count;
  const weights = filters.subarray(index * size, (index + 1) * size);
  const largest = largestSize(weights);
  const pixels = size / channels;
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) {
    // Weights are stored channel by channel, pictures pixel by pixel.
    const to = (at % pixels) * channels + Math.floor(at / pixels);
    bytes[to] = Math.round(127.5 + (127.5 * weights[at]) / largest);
  }
  return toRgba(bytes, channels);
}
