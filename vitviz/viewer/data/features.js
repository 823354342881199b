/** Features: PCA, norms and cosine similarities of the tokens of a layer, fetched when first needed. */

import { dot } from "../maths/attention.js";
import { fetchChecked, fileOf } from "./files.js";
import { similarities } from "./maps.js";
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
    this.manifest = manifest;
    this.fetchFile = fetchFile;
    this.signal = signal;
    this.onProgress = onProgress;
    this.found = null;
    this.units = new Map(); // layer -> unit rows (N * D), least recently used first
    this.pending = new Set();
    this.last = { layer: -1, token: -1, map: null };
    this.error = null;
    const bytes = 4 * manifest.model.num_tokens * manifest.model.embed_dim;
    this.most = Math.max(2, Math.floor(MOST_BYTES / bytes));
  }

  /** @returns {Summary|null}  null while it is loading, or after a failure: see `error` */
  summary() {
    if (!this.found) {
      this.fetch("summary", fileOf(this.manifest, "features"), (buffer) => {
        this.found = readSummary(buffer, this.manifest);
      });
    }
    return this.found;
  }

  /**
   * Cosine similarity of a token with all. (N), null while the layer's tokens are loading
   * @param {number} layer
   * @param {number} token
   * @returns {Float32Array|null}
   */
  similarity(layer, token) {
    const unit = this.unit(layer);
    if (!unit) return null;
    if (this.last.layer !== layer || this.last.token !== token) {
      this.last = { layer, token, map: similarities(unit, token, this.manifest.model.num_tokens) };
    }
    return this.last.map;
  }

  unit(layer) {
    const here = this.units.get(layer);
    if (here) {
      this.units.delete(layer);
      this.units.set(layer, here);
      return here;
    }
    this.fetch(layer, fileOf(this.manifest, tokensName(layer)), (buffer) => {
      const { num_tokens: tokens, embed_dim: dim } = this.manifest.model;
      const rounded = expectTensor(parseSafetensors(buffer), "unit", [tokens, dim]);
      this.units.set(layer, unitRows(toFloat32(rounded), dim));
      if (this.units.size > this.most) this.units.delete(this.units.keys().next().value);
    });
    return null;
  }

  async fetch(key, file, keep) {
    if (this.error || this.pending.has(key)) return;
    this.pending.add(key);
    try {
      keep(await fetchChecked(this.fetchFile, file, this.signal));
    } catch (error) {
      if (this.signal.aborted) return;
      this.error = error;
    } finally {
      this.pending.delete(key);
    }
    if (!this.signal.aborted) this.onProgress();
  }

  /** Forgets a failure, so that the next drawing tries again. */
  retry() {
    this.error = null;
    this.onProgress();
  }
}

/** The name of the file with the tokens after one layer. */
const tokensName = (layer) => "tokens-" + String(layer).padStart(2, "0");

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
    scores: read("scores", grid.rows * grid.cols, 3), explained: read("explained", 3),
    range: read("range", 2, 3), norms: read("norms", tokens),
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
  const sorted = Float64Array.from(norms).sort();
  const [low, high] = [Math.floor((sorted.length - 1) / 2), Math.ceil((sorted.length - 1) / 2)];
  const median = (sorted[low] + sorted[high]) / 2;
  const above = [];
  for (let i = 0; i < norms.length; i++) if (norms[i] > times * median) above.push(i);
  return { median, above };
}
