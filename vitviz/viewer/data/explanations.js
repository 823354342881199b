/**
 * Explanations: how much every token matters by one of the explainers of the manifest, fetched when first
 * needed.
 */

import { fileOf } from "./files.js";
import { LazyFile } from "./lazyfile.js";
import { Recent } from "./recent.js";
import { expectTensor, parseSafetensors, toFloat32 } from "../maths/safetensors.js";

const MOST_KEPT = 200; // files; each has four bytes for a token

/**
 * @typedef {{values: Float32Array, forward: number, backward: number, seconds: number, gap: number}} Explanation
 *   values: (N); NaN for prefix tokens of an explainer that gives them none; seconds: 0 if unknown; gap: how
 *   far the values are from adding up, as a share; 0 where they need not
 * @typedef {{key: string, token: number, target: number|null}} Question  target: a class; null where none is
 *   asked for
 */

/** The explanations of one analysis, each a file of its own. */
export class Explanations {
  /**
   * @param {import("../types.js").Manifest} manifest
   * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
   * @param {AbortSignal} signal
   * @param {() => void} onProgress
   */
  constructor(manifest, fetchFile, signal, onProgress) {
    this.manifest = manifest;
    this.files = new Recent(MOST_KEPT); // name -> LazyFile
    let last = Promise.resolve();
    // One after another: each may keep the host busy for seconds.
    this.fetchInTurn = (file, at) => {
      const mine = last.then(() => {
        at.throwIfAborted();
        return fetchFile(file, at);
      });
      last = mine.then(
        () => {},
        () => {},
      );
      return mine;
    };
    this.signal = signal;
    this.onProgress = onProgress;
  }

  /** The explainers that this model can have, as the host lists them. */
  get all() {
    return this.manifest.model.explainers ?? [];
  }

  /** @returns {import("../types.js").Explainer|undefined} */
  named(key) {
    return this.all.find((one) => one.key === key);
  }

  /**
   * The file that answers a question.
   * @param {Question} question
   * @returns {LazyFile<Explanation>}
   */
  of({ key, token, target }) {
    const one = this.named(key);
    const name = nameOf(one, token, target);
    if (!this.files.has(name)) {
      this.files.set(
        name,
        new LazyFile(
          fileOf(this.manifest, name) ?? (one.late ? { late: true, name } : undefined),
          this.fetchInTurn,
          this.signal,
          (buffer) => readExplanation(buffer, one, this.manifest.model),
          this.onProgress,
        ),
      );
    }
    return this.files.get(name);
  }
}

/**
 * The name of the file, as `vitviz.payload.explanations` makes it: with no token or class where none is asked
 * for.
 */
export function nameOf({ key, needs }, token, target) {
  return (
    "explain-" +
    key +
    "-" +
    (needs.includes("token") ? token : 0) +
    "-" +
    (needs.includes("class") ? target : "any")
  );
}

/** @returns {Explanation} */
export function readExplanation(buffer, { needs }, { num_tokens: tokens, prefix_tokens: prefix }) {
  const tensors = parseSafetensors(buffer);
  const values = Float32Array.from(toFloat32(expectTensor(tensors, "values", [tokens])));
  // Explainers of patches alone write 0 there, which is no value of theirs.
  if (!needs.includes("token")) values.fill(NaN, 0, prefix.length);
  const [forward, backward, seconds] = toFloat32(expectTensor(tensors, "cost", [3]));
  const [gap] = tensors.gap ? toFloat32(expectTensor(tensors, "gap", [1])) : [0];
  return { values, forward, backward, seconds, gap };
}
