/**
 * Explanations: how much every token matters by one of the explainers of the manifest, fetched when first
 * needed.
 */

import { fileOf } from "./files.js";
import { LazyFile } from "./lazyfile.js";
import { Recent } from "./recent.js";
import { expectTensor, parseSafetensors, toFloat32 } from "../maths/safetensors.js";

const MOST_KEPT = 200; // files; each has four bytes for a token

export const LIKE = "like"; // the target is the likeness to the picture beside

/**
 * @typedef {{values: Float32Array, forward: number, backward: number, seconds: number, gap: number,
 *   likeness: number|null}} Explanation
 *   values: (N); NaN for prefix tokens of an explainer that gives them none; seconds: 0 if unknown; gap: how
 *   far the values are from adding up, as a share; 0 where they need not; likeness: of the two pictures, if that
 *   is what was explained
 * @typedef {{key: string, token: number, target: number|"like"|null}} Question  target: a class, or LIKE; null
 *   where none is asked for
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
    /** Another picture in the same model, that stands beside. @type {import("./source.js").Source|null} */
    this.other = null;
    this.alike = new Recent(MOST_KEPT); // files of the likeness to it
    /** The picture whose likeness an experiment changes. @type {import("./source.js").Source|null} */
    this.liked = null;
    /** Why that picture is not here. @type {Error|null} */
    this.likeFailure = null;
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
  get listed() {
    return this.manifest.model.explainers ?? [];
  }

  /** The explainers that can be asked now: some need a class, or another picture beside. */
  get all() {
    const asks = this.other || this.manifest.model.head === "classes";
    return this.listed.filter(({ needs }) => asks || !needs.includes("class"));
  }

  /** Whether somebody computes the likeness to any picture beside. */
  get compares() {
    return (
      this.manifest.model.pool !== "" &&
      this.listed.some(({ late, needs }) => late && needs.includes("class"))
    );
  }

  /**
   * Sets the analysis beside; if it is another picture in the same model, their likeness can be explained.
   * @param {import("./source.js").Source|null} source
   * @param {boolean} [operated]  whether an experiment stands beside, in place of the compared picture
   */
  meet(source, operated = false) {
    const other = this.compares && source && isAnother(this.manifest, source.manifest) ? source : null;
    if (!operated) [this.liked, this.likeFailure] = [other, null];
    other?.pooled.get(); // it is needed when the other picture is closed
    if (other === this.other) return;
    this.other = other;
    this.alike = new Recent(MOST_KEPT);
  }

  /**
   * Sets the picture whose likeness an experiment changes, where `meet` has not seen that picture beside.
   * @param {import("./source.js").Source|null} source
   * @param {Error|null} [failure]  why it could not be opened
   */
  like(source, failure = null) {
    this.likeFailure = failure;
    this.liked = source && isAnother(this.manifest, source.manifest) ? source : null;
    this.liked?.pooled.get();
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
    const other = name.endsWith(LIKE) ? this.other : null;
    const files = other ? this.alike : this.files;
    if (!files.has(name)) {
      const asked = other ? { other: other.asked } : {};
      files.set(
        name,
        new LazyFile(
          fileOf(this.manifest, name) ?? (one.late ? { late: true, name, ...asked } : undefined),
          this.fetchInTurn,
          this.signal,
          (buffer) => readExplanation(buffer, one, this.manifest.model),
          this.onProgress,
        ),
      );
    }
    return files.get(name);
  }
}

/** The key of the question of a fair test. @param {import("./fairtest.js").Question} question */
export function keyOf({ explainers, token, target, other }) {
  return [...explainers, token, target, ...(other ? [JSON.stringify(other)] : [])].join("/");
}

/** Whether two manifests are of two pictures in one model, both as they are. */
const isAnother = (one, other) =>
  one.pass.id !== other.pass.id &&
  one.pass.changes.length + other.pass.changes.length === 0 &&
  JSON.stringify(one.model.key) === JSON.stringify(other.model.key);

/**
 * The name of the file, as `vitviz.payload.explanations` makes it: with no token or class where none is asked
 * for.
 */
export function nameOf({ key, needs }, token, target) {
  return `explain-${key}-${needs.includes("token") ? token : 0}-${needs.includes("class") ? target : "any"}`;
}

/** @returns {Explanation} */
export function readExplanation(buffer, { needs }, { num_tokens: tokens, prefix_tokens: prefix }) {
  const tensors = parseSafetensors(buffer);
  const values = Float32Array.from(toFloat32(expectTensor(tensors, "values", [tokens])));
  // Explainers of patches alone write 0 there, which is no value of theirs.
  if (!needs.includes("token")) values.fill(NaN, 0, prefix.length);
  const [forward, backward, seconds] = toFloat32(expectTensor(tensors, "cost", [3]));
  const [gap] = tensors.gap ? toFloat32(expectTensor(tensors, "gap", [1])) : [0];
  const [likeness] = tensors.likeness ? toFloat32(expectTensor(tensors, "likeness", [1])) : [null];
  return { values, forward, backward, seconds, gap, likeness };
}
