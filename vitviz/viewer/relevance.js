/** Rollout for the token that is looked at: matrices built while idle, or asked of the host. */

import { inSlices } from "./idle.js";
import { fuseRows, rolloutRow, rowSums } from "./rollout.js";

/** Above this many tokens the matrices (N * N numbers per layer) are too much for a browser tab. */
export const MOST_TOKENS = 400;

/** More than this many answers of one analysis need not be remembered. */
const MOST_ANSWERS = 512;

/** @typedef {{token: number, layer: number, first: number, residual: number, fusion: string}} Question */

/** Fused matrices of one analysis, and the rollouts that were made of them. */
export class Relevance {
  /**
   * @param {import("./layers.js").LayerStore} store
   * @param {object} manifest
   * @param {null|((name: string, params: object) => Promise<object>)} ask
   * @param {() => void} onProgress  something new can be drawn
   */
  constructor(store, manifest, ask, onProgress) {
    this.store = store;
    this.manifest = manifest;
    this.ask = manifest.num_tokens > MOST_TOKENS ? ask : null;
    this.possible = manifest.num_tokens <= MOST_TOKENS || Boolean(ask);
    this.onProgress = onProgress;
    this.fused = new Map(); // fusion -> {matrix, sums}[] by layer
    this.answers = new Map();
    this.building = null; // fusion that is being built
    this.share = 0; // of the matrices, while building
    this.error = null;
  }

  /**
   * The rollout, or null while it is not known; then it is on its way, unless `error` says why not.
   * @param {Question} question
   * @returns {Float32Array|null}  (N), sums to 1
   */
  of(question) {
    const key = keyOf(question);
    const known = this.answers.get(key);
    if (known) return known;
    if (!this.possible) return null;
    if (this.ask) {
      this.askHost(question, key);
      return null;
    }
    const layers = this.fused.get(question.fusion);
    if (!layers) {
      this.build(question.fusion);
      return null;
    }
    const { first, layer, token, residual } = question;
    const answer = rolloutRow(layers.slice(first, layer + 1), token, residual);
    this.remember(key, answer);
    return answer;
  }

  remember(key, answer) {
    this.answers.set(key, answer);
    if (this.answers.size > MOST_ANSWERS) this.answers.delete(this.answers.keys().next().value);
  }

  /** Builds the matrices of all layers for one way to fuse heads, in slices. */
  async build(fusion) {
    if (this.building !== null || this.error) return;
    this.building = fusion;
    this.share = 0;
    const { depth, num_tokens: tokens } = this.manifest;
    const layers = [];
    try {
      for (let index = 0; index < depth; index++) {
        const layer = await this.store.ensure(index);
        const matrix = new Float32Array(tokens * tokens);
        let row = 0;
        const step = () => {
          const next = Math.min(tokens, row + 8);
          fuseRows(layer, fusion, row, next, matrix);
          row = next;
          return row === tokens;
        };
        const onSlice = () => {
          this.share = (index + row / tokens) / depth;
          this.onProgress();
        };
        await inSlices(step, { signal: this.store.stop.signal, onSlice });
        layers.push({ matrix, sums: rowSums(matrix, tokens) });
      }
      this.fused.set(fusion, layers);
    } catch (error) {
      if (this.store.stop.signal.aborted) return;
      this.error = error;
    } finally {
      this.building = null;
    }
    this.onProgress();
  }

  /** Asks the host, one question at a time; the newest one that had to wait follows. */
  async askHost(question, key) {
    if (this.asking) {
      if (this.asking !== key) this.waiting = question;
      return;
    }
    if (this.error?.key === key) return;
    this.asking = key;
    this.error = null;
    const { token, layer, first, residual, fusion } = question;
    try {
      const params = { id: this.manifest.id, token, layer, first, residual, head_fusion: fusion };
      const reply = await this.ask("rollout", params);
      const values = Float32Array.from(reply.values ?? reply);
      if (values.length !== this.manifest.num_tokens) {
        throw new Error(values.length + " values for " + this.manifest.num_tokens + " tokens");
      }
      this.remember(key, values);
    } catch (error) {
      if (this.store.stop.signal.aborted) return;
      this.error = Object.assign(error, { key });
    } finally {
      this.asking = null;
    }
    const next = this.waiting;
    this.waiting = null;
    if (next) this.of(next);
    this.onProgress();
  }

  /** Forgets a failure, so that the next look tries again. */
  retry() {
    this.error = null;
    this.onProgress();
  }
}

function keyOf({ token, layer, first, residual, fusion }) {
  return [token, layer, first, residual.toFixed(3), fusion].join("/");
}
