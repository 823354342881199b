/** Attention maps of a token, with a cache, and cosine similarities of positions. */

import { attentionRows, dotRows, meanOfHeads } from "../maths/attention.js";
import { Recent } from "./recent.js";

const MOST_REMEMBERED_BYTES = 8e6;

/** Attention rows by (layer, token, direction), for every head and their mean. */
export class AttentionMaps {
  /**
   * @param {import("./layers.js").LayerStore} store
   * @param {{num_heads: number, num_tokens: number}} manifest
   */
  constructor(store, { num_heads: heads, num_tokens: tokens }) {
    this.store = store;
    this.heads = heads;
    this.tokens = tokens;
    this.remembered = new Recent(
      Math.max(16, Math.floor(MOST_REMEMBERED_BYTES / (4 * (heads + 1) * tokens))),
    );
  }

  /**
   * The maps of all heads and their mean; null while the layer is not here.
   * @param {number} layer
   * @param {number} token
   * @param {import("../maths/attention.js").Direction} direction
   * @returns {{rows: Float32Array, mean: Float32Array}|null}  (H * N) and (N)
   */
  of(layer, token, direction) {
    const key = direction + layer + ":" + token;
    const found = this.remembered.get(key);
    if (found) return found;
    const decoded = this.store.get(layer);
    if (!decoded) return null;
    return this.remember(key, attentionRows(decoded, token, direction));
  }

  /** Takes the rows of a token that came ahead of their layer. (H * N) */
  seed({ layer, token, direction }, rows) {
    this.remember(direction + layer + ":" + token, rows);
  }

  remember(key, rows) {
    const maps = { rows, mean: meanOfHeads(rows, this.heads) };
    this.remembered.set(key, maps);
    return maps;
  }

  /**
   * The map of one head, or of their mean. (N), null while the layer is not here.
   * @param {number} layer
   * @param {number} token
   * @param {import("../maths/attention.js").Direction} direction
   * @param {number|"mean"} head
   * @returns {Float32Array|null}
   */
  head(layer, token, direction, head) {
    const maps = this.of(layer, token, direction);
    if (!maps) return null;
    if (head === "mean") return maps.mean;
    return maps.rows.subarray(head * this.tokens, (head + 1) * this.tokens);
  }
}

/**
 * Cosine similarity of one patch's position to all others. (P), from -1 to 1
 * @param {Float32Array} positions  unit rows (P * D)
 * @param {number} patch
 * @param {number} count  P
 * @returns {Float32Array}
 */
export function similarities(positions, patch, count) {
  const dim = positions.length / count;
  const out = new Float32Array(count);
  dotRows(positions, patch * dim, positions, 0, count, dim, out, 0);
  return out;
}
