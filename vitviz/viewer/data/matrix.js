/** Whole attention maps, N x N, of one head or the mean: computed in slices, the last few kept. */

import { attentionOf } from "../maths/attention.js";
import { inSlices } from "./idle.js";
import { fuseRows } from "../maths/rollout.js";
import { Recent } from "./recent.js";

/** Above this many tokens a map has more numbers than a tab should hold and a screen can show. */
export const MOST_MATRIX_TOKENS = 2100;

const MOST_BYTES = 24e6;
const ROWS = 8; // at a time

/** The whole maps of one analysis. Drawing asks for one and gets null until it has been computed. */
export class Matrices {
  /**
   * @param {import("./layers.js").LayerStore} store
   * @param {import("../types.js").Manifest} manifest
   * @param {() => void} onProgress  something new can be drawn
   */
  constructor(store, manifest, onProgress) {
    this.store = store;
    this.tokens = manifest.model.num_tokens;
    this.possible = this.tokens <= MOST_MATRIX_TOKENS;
    this.onProgress = onProgress;
    this.made = new Recent(Math.max(1, Math.floor(MOST_BYTES / (4 * this.tokens ** 2)))); // key -> matrix
    this.wanted = "";
    this.making = "";
    this.share = 0; // of the rows that are computed, from 0 to 1
  }

  /**
   * The map [query, key]; null while it is being computed or its layer is not here.
   * @param {number} layer
   * @param {number|"mean"} head
   * @returns {Float32Array|null}  (N * N)
   */
  of(layer, head) {
    const key = layer + "/" + head;
    this.wanted = key;
    const found = this.made.get(key);
    if (found) return found;
    const decoded = this.possible && this.store.get(layer);
    if (decoded && this.making === "") this.make(key, decoded, head);
    return null;
  }

  async make(key, layer, head) {
    this.making = key;
    this.share = 0;
    const { tokens } = this;
    const matrix = new Float32Array(tokens * tokens);
    let row = 0;
    const step = () => {
      if (this.wanted !== key) return true;
      const end = Math.min(tokens, row + ROWS);
      if (head === "mean") fuseRows(layer, row, end, { mean: matrix });
      else
        for (let query = row; query < end; query++)
          attentionOf(layer, head, query, "from", matrix, query * tokens);
      row = end;
      return row === tokens;
    };
    const onSlice = () => {
      this.share = row / tokens;
      if (row < tokens) this.onProgress();
    };
    try {
      await inSlices(step, { signal: this.store.stop.signal, onSlice });
    } catch (error) {
      if (this.store.stop.signal.aborted) return;
      throw error;
    } finally {
      this.making = "";
    }
    if (row === tokens) this.made.set(key, matrix);
    this.onProgress();
  }
}
