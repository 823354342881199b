/** Core: a model that runs passes, one after the other, and begins where an earlier one was the same. */

import { KINDS } from "./tables.js";
import { plainKernels } from "./kernels.js";
import { makeMachine } from "./machine.js";
import { SelectionError, Surgery } from "./surgery.js";
import { EXPLAINERS, probabilities } from "./explain.js";
import { normalised } from "../maths/pixels.js";
import { encode, head, put, taken, tokenize } from "./vit.js";
import { readModel } from "./weights.js";

/** So many passes are remembered, so that others can begin where they were the same. */
const MOST_REMEMBERED = 4;

/**
 * What a pass is wanted of. `picture`: what the model sees before it is normalised, (h, w, C), 0 to 255;
 * `interventions`: in JSON, as vitviz/probe/intervene/intervention.py has them; `donors`: for each of these
 * that is a transplant the tokens before its layer; `answer`: only the logits are wanted, which takes less.
 * @typedef {{picture: Uint8Array, interventions?: any[], donors?: (import("./surgery.js").Donor|null)[],
 *   answer?: boolean}} Wish
 */

/**
 * What a pass leaves behind, as vitviz/probe/capture/trace.py has it; N tokens of D numbers, L blocks, H
 * heads of d numbers.
 * logits     (C), features (D) of a model without a head, (N, C) of one that does not pool
 * removed    the patches that were taken out
 * picture    (h, w, C) as it was changed
 * from       the block that was the first to be computed: those before it are as they were in an earlier pass
 * The rest is null where only the answer was wanted:
 * tokens     L + 1 times (N, D): before the first block, and after each
 * layers     L times q, k and v, (H, N, d) each, as attention used them, and lse (H, N): the log-sum-exp of
 * the scores of a row, so
 *            that attention[h, i, j] = exp(scale q[h, i] . k[h, j] - lse[h, i]), and 0 where an edge is cut
 * lens       L times the logits that the tokens after each block would give; null without classes or pooling
 * embedding  (N, F) each: the first numbers of every token before the first block, and of its position
 * @typedef {{
 *   interventions: import("./surgery.js").Intervention[], removed: number[], picture: Uint8Array, from:
 *     number, logits: Float32Array, width: number,
 *   tokens: Float32Array[]|null, layers: import("./vit.js").Looked[]|null, lens: Float32Array[]|null,
 *   embedding: {content: Float32Array, position: Float32Array}|null,
 * }} Pass
 */

/**
 * What a page has to know of a model. `unknown`: switches that this engine does not know; then it runs no
 * pass. filters: (F, C, ph, pw), the first rows of the matrix that every patch is multiplied with, and their
 * bias (F); null where it runs none.
 * @typedef {{config: import("./config.js").Config, preprocess: any, labels: string[]|null,
 *   details: Record<string, string>, words: any,
 *   unknown: string[], simd: boolean, filters: Float32Array|null, filterBias: Float32Array|null}} Facts
 */

/**
 * What a longer task is wanted of: a pass, and the class `target` (-1: none). `explainer`, by its key, for
 * `token`: then it is of `Explained`; or `kept`: the probability of the class with only these patches, for
 * each list of some.
 * @typedef
 *   {Wish & {target: number, explainer?: string, token?: number, kept?: number[][], temperature?: number}}
 *   Task
 */

export class Core {
  /** @type {import("./machine.js").Machine|null} */
  #machine = null;
  /** @type {Pass[]} */
  #remembered = [];
  #makeKernels;

  /** @param {(bytes: number) => import("./kernels.js").Kernels} [makeKernels] */
  constructor(makeKernels = plainKernels) {
    this.#makeKernels = makeKernels;
  }

  /**
   * Read a model, and forget the one before. Throws a FormatError.
   * @param {ArrayBuffer} buffer  a .safetensors file of vitviz
   * @returns {Facts}
   */
  load(buffer) {
    this.#machine = null;
    this.#remembered = [];
    const { weights, ...facts } = readModel(buffer);
    if (facts.unknown.length > 0) return { ...facts, simd: false, filters: null, filterBias: null };
    const machine = makeMachine({ ...facts, weights }, this.#makeKernels);
    this.#machine = machine;
    return { ...facts, simd: machine.kernels.simd, filters: machine.filters, filterBias: machine.filterBias };
  }

  /**
   * One forward pass. Throws a SelectionError for interventions that cannot be done.
   * @param {Wish} wish
   * @returns {Pass}
   */
  run({ picture, interventions = [], donors = [], answer = false }) {
    const m = this.#machine;
    if (!m) throw new Error("no model is loaded that runs here");
    const { config, at } = m;
    const { embed_dim: width, num_tokens: tokens, depth, num_classes, global_pool } = config;
    if (picture.length !== config.image_size[0] * config.image_size[1] * config.in_chans)
      throw new Error(
        "the model takes a picture of " +
          [...config.image_size, config.in_chans] +
          " numbers, got " +
          picture.length,
      );
    const surgery = new Surgery(interventions, config, donors, answer && config.global_pool !== "");
    const changed = surgery.picture(picture);
    const begins = this.#begins(changed, surgery);
    const before = begins.pass;
    let embedding = before?.embedding ?? null;
    if (before) {
      put(m, at.x, /** @type {Float32Array[]} */ (before.tokens)[begins.at], width);
    } else {
      embedding = tokenize(m, normalised(m, changed), surgery);
    }
    const result = {
      interventions: surgery.interventions,
      removed: surgery.removed,
      picture: changed,
      from: begins.at,
      width,
    };
    if (answer) {
      encode(m, begins.at, surgery, null);
      return {
        ...result,
        logits: sound(head(m, surgery)),
        tokens: null,
        layers: null,
        lens: null,
        embedding: null,
      };
    }
    const all = before?.tokens ? before.tokens.slice(0, begins.at + 1) : [taken(m, at.x, tokens, width)];
    const layers = before?.layers ? before.layers.slice(0, begins.at) : [];
    encode(m, begins.at, surgery, (_, looked, after) => {
      layers.push(/** @type {import("./vit.js").Looked} */ (looked));
      all.push(after);
    });
    const logits = sound(head(m, surgery));
    const lens =
      num_classes > 0 && global_pool !== ""
        ? all
            .slice(1, depth)
            .map((one) => {
              put(m, at.x, one, width);
              return head(m, surgery);
            })
            .concat([logits])
        : null;
    const pass = { ...result, logits, tokens: all, layers, lens, embedding };
    this.#remember(pass);
    return pass;
  }

  /**
   * A longer task, in slices: it pauses after each pass, with the share that is done. Nothing else may be
   * computed between two slices but what leaves no half of a pass behind, as `run` does. Throws a
   * SelectionError for what does not exist.
   * @param {Task} task
   * @returns {Generator<number, any, void>}
   */
  *work({ target, explainer = "", token = 0, kept = [], temperature = 1, ...wish }) {
    const pass = this.run({ ...wish, answer: false });
    const m = /** @type {import("./machine.js").Machine} */ (this.#machine);
    const { config } = m;
    const surgery = new Surgery(wish.interventions ?? [], config, wish.donors);
    if (target >= config.num_classes || !(token >= 0 && token < config.num_tokens))
      throw new SelectionError("no_class", {});
    const of = { m, pass, surgery, pixels: normalised(m, pass.picture), target };
    if (!explainer) return yield* probabilities(of, kept, temperature);
    if (!Object.hasOwn(EXPLAINERS, explainer)) throw new SelectionError("no_class", {});
    const made = EXPLAINERS[explainer](of, token);
    return "next" in made ? yield* made : made;
  }

  /**
   * The last tokens of an earlier pass that are those of this one too.
   * @returns {{at: number, pass: Pass|null}}
   */
  #begins(picture, surgery) {
    let best = { at: -1, pass: /** @type {Pass|null} */ (null) };
    for (const pass of this.#remembered) {
      if (!isEqual(pass.picture, picture)) continue;
      for (let at = surgery.config.depth; at > best.at; at--) {
        if (isSame(pass.interventions, surgery.interventions, at)) best = { at, pass };
      }
    }
    return { ...best, at: Math.max(0, best.at) };
  }

  /** Remember a pass, and the last one in which nothing was changed. */
  #remember(pass) {
    const intact = this.#remembered.find(({ interventions }) => interventions.length === 0);
    this.#remembered = [pass, ...this.#remembered].slice(0, MOST_REMEMBERED);
    if (intact && !this.#remembered.includes(intact)) this.#remembered[MOST_REMEMBERED - 1] = intact;
  }
}

/** Whether two pictures have the same numbers. @param {Uint8Array} one @param {Uint8Array} other */
function isEqual(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at === one.length;
}

/**
 * Whether two lists leave the same tokens before a block, of one picture. Of what is transplanted only the
 * name is known.
 */
function isSame(ours, theirs, block) {
  const [a, b] = [ours, theirs].map((list) =>
    list.filter((one) => Surgery.since(one) <= block && KINDS[one.kind].touches !== "pixels"),
  );
  return !a.some(({ kind }) => kind === "transplant") && JSON.stringify(a) === JSON.stringify(b);
}

/** Logits that are finite. @param {Float32Array} logits */
function sound(logits) {
  if (!logits.every(Number.isFinite)) throw new Error("the model computes numbers that are not finite");
  return logits;
}
