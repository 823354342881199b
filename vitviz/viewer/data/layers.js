/** The layers of one analysis: fetched when needed, decoded once, dropped when there are many. */

import { decodeLayer } from "../maths/attention.js";
import { explainFailure, fetchChecked, fileOf } from "./files.js";
import { Recent } from "./recent.js";

/** If the files have more bytes than this, nothing is fetched ahead and old layers are dropped. */
export const MOST_BYTES = 64e6;

/** Decoded layers are 32-bit and so twice the size of their files. */
const MOST_DECODED_BYTES = 2 * MOST_BYTES;

/** The name of a file of a layer. */
export const layerName = (layer, of = "layer") => of + "-" + String(layer).padStart(2, "0");

/** Fetches, decodes and keeps the layers of one manifest. */
export class LayerStore {
  /**
   * @param {import("../types.js").Manifest} manifest
   * @param {(file: import("../types.js").PayloadFile, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
   */
  constructor(manifest, fetchFile) {
    this.manifest = manifest;
    this.fetchFile = fetchFile;
    this.stop = new AbortController();
    this.pending = new Map(); // layer -> Promise<Layer>
    this.looked = -1; // the selected layer
    this.wanted = -1; // the layer that `want` is fetching
    /** @type {({layer: number} & import("./files.js").Failure)|null} */
    this.failure = null; // of the selected layer
    const sizes = Array.from(
      { length: manifest.model.depth },
      (_, layer) => fileOf(manifest, layerName(layer))?.size,
    );
    this.total = sizes.every(Number.isFinite)
      ? sizes.reduce((sum, size) => sum + size, 0)
      : 4 *
        manifest.model.depth *
        manifest.model.num_tokens *
        manifest.model.num_heads *
        manifest.model.head_dim;
    const most = Math.max(2, Math.floor((MOST_DECODED_BYTES / 2 / this.total) * manifest.model.depth));
    this.ready = new Recent(most); // layer -> Layer
  }

  /** Whether all layers may be fetched ahead and kept. */
  get keepsAll() {
    return this.total <= MOST_BYTES;
  }

  /**
   * The layer if it has been decoded, else undefined.
   * @param {number} layer
   * @returns {import("../maths/attention.js").Layer|undefined}
   */
  get(layer) {
    return this.ready.get(layer);
  }

  /**
   * The layer, fetched if need be; two callers share one request.
   * @param {number} layer
   * @returns {Promise<import("../maths/attention.js").Layer>}
   */
  async ensure(layer) {
    const found = this.get(layer);
    if (found) return found;
    if (!this.pending.has(layer)) {
      const job = this.fetchLayer(layer).finally(() => this.pending.delete(layer));
      this.pending.set(layer, job);
    }
    return this.pending.get(layer);
  }

  async fetchLayer(layer) {
    const file = fileOf(this.manifest, layerName(layer));
    const buffer = await fetchChecked(this.fetchFile, file, this.stop.signal);
    const decoded = decodeLayer(buffer, this.manifest, layer);
    if (!this.get(layer)) this.provide(layer, decoded); // somebody may have made it meanwhile
    return /** @type {import("../maths/attention.js").Layer} */ (this.get(layer));
  }

  /**
   * Keeps a layer that somebody has made, in place of its file.
   * @param {import("../maths/attention.js").Layer} decoded
   */
  provide(layer, decoded) {
    this.ready.set(layer, decoded);
  }

  /** Selects a layer; the failure of another one is forgotten. */
  look(layer) {
    this.looked = layer;
    if (this.failure?.layer !== layer) this.failure = null;
  }

  /**
   * Fetches the selected layer, unless it is here or has failed.
   * @param {() => void} onCome  called when it is here, or when `failure` says why not
   */
  async want(onCome) {
    const layer = this.looked;
    if (this.failure || this.wanted === layer || this.get(layer)) return;
    this.wanted = layer;
    try {
      await this.ensure(layer);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      if (layer === this.looked) this.failure = { layer, ...explainFailure(error) };
    } finally {
      if (this.wanted === layer) this.wanted = -1;
    }
    if (!this.stop.signal.aborted) onCome();
  }

  /**
   * Fetches the layers that are still missing, one after another, the nearest to `start` first.
   * Does nothing if not all layers can be kept. Stops at the first failure without reporting it:
   * `want` reports the failure of the selected layer.
   * @param {number} start
   * @param {(layer: number) => void} onLayer
   */
  async prefetch(start, onLayer) {
    if (!this.keepsAll) return;
    const order = [...Array(this.manifest.model.depth).keys()];
    order.sort((a, b) => Math.abs(a - start) - Math.abs(b - start));
    for (const layer of order) {
      if (this.stop.signal.aborted) return;
      if (this.ready.has(layer)) continue;
      try {
        await this.ensure(layer);
      } catch {
        return;
      }
      if (this.stop.signal.aborted) return;
      onLayer(layer);
    }
  }

  /** Aborts all requests and frees the memory. */
  dispose() {
    this.stop.abort();
    this.ready.clear();
    this.pending.clear();
  }
}
