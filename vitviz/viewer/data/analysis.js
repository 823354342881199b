/** Reads files of an analysis: logits, the picture, the position embedding, the statistics of heads. */

import { toRgba } from "../maths/colour.js";
import { similarities } from "./maps.js";
import { lensLines, resultsOf } from "../maths/predictions.js";
import { FormatError, expectTensor, parseSafetensors, toFloat32 } from "../maths/safetensors.js";

/**
 * Statistics of every head, [layer][head]: entropy in nats, mean attention distance in pixels. And the
 * largest difference between attention that the viewer makes, of q and k in half precision, and the exact
 * one.
 * @typedef {{entropy: number[][], distance: number[][], error: number}} Statistics
 */

/** @returns {Statistics} */
export function readStatistics(buffer, manifest) {
  const { depth, num_heads: heads } = manifest.model;
  const tensors = parseSafetensors(buffer);
  const read = (name) => {
    const { data } = expectTensor(tensors, name, [depth, heads]);
    return Array.from({ length: depth }, (_, layer) =>
      Array.from(data.subarray(layer * heads, (layer + 1) * heads)),
    );
  };
  const error = Math.max(...expectTensor(tensors, "error", [depth]).data);
  return { entropy: read("entropy"), distance: read("distance"), error };
}

/**
 * The picture as bytes and as RGBA.
 * @returns {{pixels: Uint8Array, rgba: Uint8ClampedArray<ArrayBuffer>}}
 */
export function readPicture(buffer, manifest) {
  const { height, width, channels } = manifest.model.image;
  const tensors = parseSafetensors(buffer);
  const pixels = expectTensor(tensors, "pixels", [height, width, channels]).data;
  return { pixels, rgba: toRgba(pixels, channels) };
}

/** The rows of attention that are shown first, (H * N), in every head: those of `first` in the manifest. */
export function readFirst(buffer, manifest) {
  return toFloat32(
    expectTensor(parseSafetensors(buffer), "rows", [manifest.model.num_heads, manifest.model.num_tokens]),
  );
}

/**
 * The results that follow from the logits in the same file: the part of a pass that is not sent.
 * @param {ArrayBuffer} buffer
 * @param {Pick<import("../types.js").Manifest, "model"> & {pass: import("../types.js").Pass}} manifest
 */
export function readResults(buffer, { model, pass: { labels } }) {
  const tensors = parseSafetensors(buffer);
  const logits = model.head === "classes" ? expectTensor(tensors, "logits", [model.num_classes]).data : [];
  return {
    ...resultsOf(logits, model, model.labels ?? labels),
    vector: tensors.vector ? toFloat32(tensors.vector) : null,
    donors: donorsIn(tensors),
  };
}

/**
 * Thumbnails of the pictures whose tokens were put in, by the index of the intervention.
 * @returns {Record<string, import("../types.js").Small>}
 */
const donorsIn = (tensors) =>
  Object.fromEntries(
    Object.entries(tensors)
      .filter(([name]) => name.startsWith("donor."))
      .map(([name, { data, shape }]) => {
        const [height, width, channels] = shape;
        return [name.slice(6), { rgba: toRgba(data, channels), height, width }];
      }),
  );

/**
 * The lines of the logit lens.
 * @param {ArrayBuffer} buffer
 * @param {import("../types.js").Manifest} manifest
 */
export function readLens(buffer, { model, pass: { labels } }) {
  const { depth, num_classes: classes } = model;
  const { data } = expectTensor(parseSafetensors(buffer), "logits", [depth, classes]);
  const layers = Array.from({ length: depth }, (_, layer) =>
    data.subarray(layer * classes, (layer + 1) * classes),
  );
  return lensLines(layers, model, model.labels ?? labels);
}

/**
 * The attention of the query of a pool, head after head: rows (heads * N), each sums to 1.
 * @typedef {{heads: number, rows: Float32Array}} Pool
 */

/** @returns {Pool} */
export function readPool(buffer, { model: { num_tokens: tokens } }) {
  const tensors = parseSafetensors(buffer);
  const heads = tensors.shares?.shape[0];
  return { heads, rows: toFloat32(expectTensor(tensors, "shares", [heads, tokens])) };
}

/** The pixels of a JPEG file; rejects if it is damaged. @returns {Promise<ImageBitmap>} */
export function decodeJpeg(buffer) {
  return createImageBitmap(new Blob([buffer], { type: "image/jpeg" }));
}

/** Unit rows of a position embedding, one for each patch; null if the model has none. */
export function readPositions(tensors, grid) {
  const rows = tensors.pos_embed;
  if (rows && rows.shape[0] !== grid.rows * grid.cols) {
    throw new FormatError(
      "pos_embed has " + rows.shape[0] + " rows for " + grid.rows * grid.cols + " patches",
    );
  }
  return rows ? toFloat32(rows) : null;
}

/**
 * A function that gives the cosine similarities of a token's position to all, and remembers the last.
 * @returns {(token: number) => Float32Array|null}  null for a prefix token, or without positions
 */
export function positionMaps(positions, grid) {
  let last = { token: -1, map: null };
  return (token) => {
    if (!positions || token < grid.prefix) return null;
    if (last.token !== token) {
      last = { token, map: similarities(positions, token - grid.prefix, grid.rows * grid.cols) };
    }
    return last.map;
  };
}
