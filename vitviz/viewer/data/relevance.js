/** Rollout for a token: computed from matrices that are built while idle, or by the host. */

import { LIMITS } from "../engine/tables.js";
import { inSlices } from "./idle.js";
import { expectTensor, parseSafetensors, toFloat32 } from "../maths/safetensors.js";
import { FUSIONS, fuseRows, rolloutRow, rowSums } from "../maths/rollout.js";
import { newestOf } from "./newest.js";
import { Recent } from "./recent.js";

/** At most this many rollouts of one analysis are remembered. */
const MOST_ANSWERS = 512;

/** The host is asked when a question has stayed the same this long: a moving slider asks many. */
const REST_MS = 150;

/** @typedef {{token: number, layer: number, first: number, residual: number, fusion: string}} Question */

/** Fused matrices of one analysis, and the rollouts computed from them. */
export class Relevance {
  /**
   * @param {import("./layers.js").LayerStore} store
   * @param {import("../types.js").Manifest} manifest
   * @param {import("../types.js").Asked} asked  the pass
   * @param {null|((name: string, params: any) => Promise<any>)} ask
   * @param {() => void} onProgress  something new can be drawn
   * @param {import("./lazyfile.js").LazyFile<Float32Array[]>|null} [brought]  rollouts that a page of one
   *   file brings
   */
  constructor(store, manifest, asked, ask, onProgress, brought = null) {
    this.store = store;
    this.asked = asked;
    this.manifest = manifest;
    // The matrices of more tokens (N * N numbers per layer) are too much for a browser tab.
    this.ask = manifest.model.num_tokens > LIMITS.rollout_tokens ? ask : null;
    this.brought = brought?.exists ? brought : null;
    this.possible = manifest.model.num_tokens <= LIMITS.rollout_tokens || Boolean(ask);
    this.onProgress = onProgress;
    this.fused = new Map(); // fusion -> {matrix, sums}[] by layer
    this.answers = new Recent(MOST_ANSWERS);
    this.building = false;
    this.share = 0; // of the matrices that are built, from 0 to 1
    // keys of the question the host has, and of the one that follows it
    [this.asking, this.waiting] = ["", ""];
    this.inTurn = newestOf((question) => this.fetch(question));
    this.resting = 0; // timer
    this.error = null;
  }

  /**
   * The rollout; null while it is being computed, or after a failure: see `error`.
   * @param {Question} question
   * @returns {Float32Array|null}  (N), sums to 1
   */
  of(question) {
    const key = keyOf(question);
    const known = this.answers.get(key);
    if (known) return known;
    if (!this.possible) return this.among(question);
    if (this.ask) {
      this.rest(question, key);
      return null;
    }
    const layers = this.fused.get(question.fusion);
    if (!layers) {
      this.build();
      return null;
    }
    const { first, layer, token, residual } = question;
    const answer = rolloutRow(layers.slice(first, layer + 1), token, residual);
    this.answers.set(key, answer);
    return answer;
  }

  /** One of the rollouts in a page of one file: those of the token shown first, with initial settings. */
  among({ token, layer, first, residual, fusion }) {
    const begins =
      token === this.manifest.pass.first.token && first === 0 && residual === 0.5 && fusion === "mean";
    return (begins && this.brought?.get()?.[layer]) || null;
  }

  /**
   * Builds the matrices of all layers, in slices, for every way to fuse heads at once: the products
   * of q and k are the expensive part, and another fusion is then there at a click.
   */
  async build() {
    if (this.building || this.error) return;
    this.building = true;
    this.share = 0;
    const { depth, num_tokens: tokens } = this.manifest.model;
    const made = Object.fromEntries(FUSIONS.map((fusion) => [fusion, []]));
    try {
      for (let index = 0; index < depth; index++) {
        const layer = await this.store.ensure(index);
        const matrices = Object.fromEntries(
          FUSIONS.map((fusion) => [fusion, new Float32Array(tokens * tokens)]),
        );
        let row = 0;
        const step = () => {
          const next = Math.min(tokens, row + 4);
          fuseRows(layer, row, next, matrices);
          row = next;
          return row === tokens;
        };
        const onSlice = () => {
          this.share = (index + row / tokens) / depth;
          this.onProgress();
        };
        await inSlices(step, { signal: this.store.stop.signal, onSlice });
        for (const fusion of FUSIONS) {
          const matrix = matrices[fusion];
          made[fusion].push({ matrix, sums: rowSums(matrix, tokens) });
        }
      }
      for (const fusion of FUSIONS) this.fused.set(fusion, made[fusion]);
    } catch (error) {
      if (this.store.stop.signal.aborted) return;
      this.error = error;
    } finally {
      this.building = false;
    }
    this.onProgress();
  }

  /** Asks the host when the question has rested. */
  rest(question, key) {
    if (this.error?.key === key || [this.asking, this.waiting].includes(key)) return;
    this.waiting = key;
    this.error = null; // it was of another question
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.inTurn(question, this.store.stop.signal).then(
        () => this.onProgress(),
        () => {},
      ); // else overtaken, or nobody looks any more
    }, REST_MS);
  }

  async fetch(question) {
    const key = keyOf(question);
    const { token, layer, first, residual, fusion } = question;
    this.asking = key;
    if (this.waiting === key) this.waiting = "";
    try {
      const params = { ...this.asked, token, layer, first, residual, head_fusion: fusion };
      const reply = await this.ask("rollout", params);
      this.answers.set(key, valuesOf(reply, this.manifest.model.num_tokens));
    } catch (error) {
      if (this.store.stop.signal.aborted) return;
      if (!this.waiting) this.error = Object.assign(error, { key }); // else nobody looks at it now
    } finally {
      this.asking = "";
    }
  }

  /** Forgets a failure, so that the next drawing tries again. */
  retry() {
    this.error = null;
    this.onProgress();
  }
}

/**
 * Rollouts after each layer.
 * @param {ArrayBuffer} buffer
 * @param {import("../types.js").Model} model
 * @returns {Float32Array[]}  (N) each
 */
export function readRollouts(buffer, { depth, num_tokens: tokens }) {
  const rows = toFloat32(expectTensor(parseSafetensors(buffer), "rows", [depth, tokens]));
  return Array.from({ length: depth }, (_, layer) =>
    Float32Array.from(rows.subarray(layer * tokens, (layer + 1) * tokens)),
  );
}

/** The values in a host's reply, one number for each token; throws if it has anything else. */
function valuesOf(reply, tokens) {
  const values = reply?.values;
  if (!Array.isArray(values) || values.length !== tokens || !values.every(Number.isFinite)) {
    const count = Array.isArray(values) ? values.filter(Number.isFinite).length : "no";
    throw new Error(`${count} values for ${tokens} tokens`);
  }
  return Float32Array.from(values);
}

function keyOf({ token, layer, first, residual, fusion }) {
  return [token, layer, first, residual.toFixed(3), fusion].join("/");
}
