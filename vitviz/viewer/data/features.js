/** Features: PCA, norms and cosine similarities of the tokens of a layer, fetched when first needed. */

import { dot } from "../maths/attention.js";
import { fileOf } from "./files.js";
import { layerName } from "./layers.js";
import { LazyFile } from "./lazyfile.js";
import { similarities } from "./maps.js";
import { quantile } from "../maths/quantile.js";
import { Recent } from "./recent.js";
import { expectTensor, parseSafetensors, toFloat32 } from "../maths/safetensors.js";

/** The decoded tokens that are kept have at most this many bytes, or are two layers. */
const MOST_BYTES = 24e6;

/**
 * PCA and norms of all layers, layer after layer.
 * @typedef {{scores: Float32Array, explained: Float32Array, range: Float32Array,
 *   norms: Float32Array}} Summary  (L, P, 3), (L, 3), (L, 2, 3), (L, N)
 */

/** The features of one analysis. Drawing asks for them and gets null until they have been fetched. */
export class Features {
  /**
   * @param {import("../types.js").Manifest} manifest
   * @param {(file: import("../types.js").PayloadFile, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
   * @param {AbortSignal} signal
   * @param {() => void} onProgress  something new can be drawn
   */
  constructor(manifest, fetchFile, signal, onProgress) {
    this.onProgress = onProgress;
    const { num_tokens: tokens, embed_dim: dim } = (this.model = manifest.model);
    // A file that the page lacks gets a name alone: fetching it fails, and drawing shows the error.
    const lazy = (name, read) =>
      new LazyFile(fileOf(manifest, name) ?? { name }, fetchFile, signal, read, () => this.onProgress());
    const read = (buffer) => readSummary(buffer, manifest);
    this.file = lazy("features", read);
    /** PCA behind the last norm of the model. @type {LazyFile<Summary>|null} */
    this.normed = fileOf(manifest, "normed") ? lazy("normed", read) : null;
    this.lazyUnit = (layer) =>
      lazy(layerName(layer, "tokens"), (buffer) =>
        unitRows(toFloat32(expectTensor(parseSafetensors(buffer), "unit", [tokens, dim])), dim),
      );
    // layer -> LazyFile of unit rows (N * D)
    this.units = new Recent(Math.max(2, Math.floor(MOST_BYTES / (4 * tokens * dim))));
    this.last = { layer: -1, token: -1, map: null };
  }

  /** The first failure, until another try. */
  get error() {
    return this.files.find(({ error }) => error)?.error ?? null;
  }

  get files() {
    return [this.file, ...(this.normed ? [this.normed] : []), ...this.units.values()];
  }

  /**
   * @param {boolean} [normed]  of the tokens behind the last norm, where there are any; lengths are of those
   *   before it
   * @returns {Summary|null}  null while it is loading, or after a failure: see `error`
   */
  summary(normed = false) {
    return ((normed && this.normed) || this.file).get();
  }

  /**
   * Cosine similarity of a token with all. (N), null while the layer's tokens are loading
   * @param {number} layer
   * @param {number} token
   * @returns {Float32Array|null}
   */
  similarity(layer, token) {
    if (!this.units.has(layer)) this.units.set(layer, this.lazyUnit(layer));
    const unit = this.units.get(layer).get();
    if (!unit) return null;
    if (this.last.layer !== layer || this.last.token !== token) {
      this.last = { layer, token, map: similarities(unit, token, this.model.num_tokens) };
    }
    return this.last.map;
  }

  /** Forgets a failure, so that the next drawing tries again. */
  retry() {
    for (const file of this.files) file.error = null;
    this.onProgress();
  }
}

/** Normalises rows to length 1, in place: rounding to 16 bits has changed their lengths a little. */
function unitRows(rows, dim) {
  for (let start = 0; start < rows.length; start += dim) {
    const length = Math.sqrt(dot(rows, start, rows, start, dim));
    if (length > 0) for (let i = start; i < start + dim; i++) rows[i] /= length;
  }
  return rows;
}

/** @returns {Summary} */
export function readSummary(buffer, manifest) {
  const { depth, num_tokens: tokens, grid } = manifest.model;
  const tensors = parseSafetensors(buffer);
  const read = (name, ...shape) => toFloat32(expectTensor(tensors, name, [depth, ...shape]));
  return {
    scores: read("scores", grid.rows * grid.cols, 3),
    explained: read("explained", 3),
    range: read("range", 2, 3),
    norms: read("norms", tokens),
  };
}

/**
 * One layer of a summary: colours of the patches, explained variance, norms of all tokens.
 * @param {Summary} summary
 * @param {number} layer
 * @param {import("../types.js").Manifest} manifest
 * @returns {{colours: Float32Array, scores: Float32Array, explained: Float32Array,
 *   norms: Float32Array}}  (P * 3) in [0, 1], (P * 3), (3), (N)
 */
export function layerFeatures(summary, layer, manifest) {
  const part = (values) => {
    const size = values.length / manifest.model.depth;
    return values.subarray(layer * size, (layer + 1) * size);
  };
  const [scores, range] = [part(summary.scores), part(summary.range)];
  const colours = new Float32Array(scores.length);
  for (let i = 0; i < scores.length; i++) {
    const [low, high] = [range[i % 3], range[3 + (i % 3)]];
    const shown = high > low ? (scores[i] - low) / (high - low) : 0.5;
    colours[i] = Math.min(1, Math.max(0, shown));
  }
  return { colours, scores, explained: part(summary.explained), norms: part(summary.norms) };
}

/**
 * The patches whose norm is above `times` the median norm of all patches.
 * @param {ArrayLike<number>} norms  (P)
 * @param {number} times
 * @returns {{median: number, above: number[]}}  above: numbers of patches
 */
export function outliers(norms, times) {
  const median = quantile(norms, 0.5);
  const above = [];
  for (let i = 0; i < norms.length; i++) if (norms[i] > times * median) above.push(i);
  return { median, above };
}
