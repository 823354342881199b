/**
 * Core: runs passes of a model one after the other, and reuses the blocks that an earlier pass has in common.
 */

import { KINDS } from "./tables.js";
import { plainKernels } from "./kernels.js";
import { makeMachine } from "./machine.js";
import { SelectionError, Surgery } from "./surgery.js";
import { fooled } from "./fooling.js";
import { EXPLAINERS, scores } from "./explain.js";
import { cosineOf, featured } from "./likeness.js";
import { normalised } from "../maths/pixels.js";
import { encode, head, poolShares, put, taken, tokenize } from "./vit.js";
import { readModel } from "./weights.js";

/** Number of passes that are remembered, so that later ones can reuse their first blocks. */
const MOST_REMEMBERED = 4;
/** Number of fooled pictures that are remembered: those of a whole slider, with their controls. */
const MOST_FOOLED = 20;

/**
 * Input of a pass. `picture`: the model's picture before normalisation, (h, w, C), 0 to 255; `interventions`:
 * in JSON, as in vitviz/probe/intervene/intervention.py; `donors`: for each intervention that is a
 * transplant, the tokens before its layer; `answer`: compute only the logits, which is faster.
 * @typedef {{picture: Uint8Array, interventions?: any[], donors?: (import("./surgery.js").Donor|null)[],
 *   answer?: boolean}} Wish
 */

/**
 * Result of a pass, as in vitviz/probe/capture/trace.py; N tokens of D numbers, L blocks, H heads of d
 * numbers.
 * logits     (C); features (D) of a model without a head, (N, C) of a model that does not pool
 * vector     compared with that of another picture: pooled features, or outputs that no class names, such as
 *            CLIP's; null of a model that does not pool
 * removed    the patches that were taken out
 * picture    (h, w, C), after the interventions on pixels
 * from       the first block that was computed; the blocks before it come from an earlier pass
 * The rest is null where only the answer was wanted:
 * tokens     L + 1 times (N, D): before the first block, and after each
 * layers     L times q, k and v, (H, N, d) each, as attention used them, and lse (H, N): the log-sum-exp of
 *            the scores of a row, so that attention[h, i, j] = exp(scale q[h, i] . k[h, j] - lse[h, i]), and
 *            0 where an edge is cut
 * lens       L times the logits that the tokens after each block would give; null without classes or pooling
 * shares     attention of the query that pools the tokens, (H, N); null for other ways to pool
 * embedding  (N, F) each: the first numbers of every token before the first block, and of its position
 * @typedef {{
 *   interventions: import("./surgery.js").Intervention[], removed: number[], picture: Uint8Array,
 *   from: number, logits: Float32Array, vector: Float32Array|null, width: number, shares: Float32Array|null,
 *   tokens: Float32Array[]|null, layers: import("./vit.js").Looked[]|null, lens: Float32Array[]|null,
 *   embedding: {content: Float32Array, position: Float32Array}|null,
 * }} Pass
 */

/**
 * Facts about a model for the page. `unknown`: switches that this engine does not support; if there are any,
 * it runs no pass. outputs: what they mean, "" where the checkpoint does not say. filters: the first rows of
 * the patch embedding, (F, C, ph, pw), and their bias (F); null if it runs no pass.
 * @typedef {{config: import("./config.js").Config, preprocess: any, labels: string[]|null,
 *   details: Record<string, string>, words: any, outputs: string,
 *   unknown: string[], simd: boolean, filters: Float32Array|null, filterBias: Float32Array|null}} Facts
 */

/**
 * Input of a longer task: a pass, and the class `target` (-1: none). With `explainer`, a key, and `token` the
 * result is an `Explained`; without, the probability of the class with only the patches of each list in
 * `kept`. like: another picture, as `picture`: the likeness to it stands in place of the class, and an `Explained`
 * has it as `likeness`.
 * @typedef
 *   {Wish & {target: number, like?: Uint8Array|null, explainer?: string, token?: number, kept?: number[][],
 *   temperature?: number, outputs?: import("../types.js").Outputs}}
 *   Task
 */

export class Core {
  /** @type {import("./machine.js").Machine|null} */
  #machine = null;
  /** @type {Pass[]} */
  #remembered = [];
  /** @type {string[]|null} */
  #labels = null;
  /** The last picture that another one was compared with. @type {{picture: Uint8Array, vector: Float32Array}|null} */
  #liked = null;
  /** @type {{picture: Uint8Array, key: string, after: Uint8Array}[]} */
  #fooled = [];
  /** @type {(before: Uint8Array, change: any) => Uint8Array} */
  #fool = (before) => before;
  #makeKernels;

  /** @param {(bytes: number) => import("./kernels.js").Kernels} [makeKernels] */
  constructor(makeKernels = plainKernels) {
    this.#makeKernels = makeKernels;
  }

  /**
   * Read a model in place of the previous one. Throws a FormatError.
   * @param {ArrayBuffer} buffer  a .safetensors file of vitviz
   * @returns {Facts}
   */
  load(buffer) {
    this.#machine = null;
    this.#remembered = [];
    this.#fooled = [];
    this.#liked = null;
    const { weights, ...facts } = readModel(buffer);
    if (facts.unknown.length > 0) return { ...facts, simd: false, filters: null, filterBias: null };
    const machine = makeMachine({ ...facts, weights }, this.#makeKernels);
    this.#machine = machine;
    this.#labels = facts.labels;
    this.#fool = (before, change) => this.#fooledBy(machine, facts, before, change);
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
    const changed = surgery.picture(picture, this.#fool);
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
        ...this.#answer(surgery),
        shares: null,
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
    const { logits, vector } = this.#answer(surgery);
    const shares = poolShares(m);
    const lens =
      num_classes > 0 && global_pool !== ""
        ? all
            .slice(1, depth)
            .map((after) => {
              put(m, at.x, after, width);
              return head(m, surgery);
            })
            .concat([logits])
        : null;
    const pass = { ...result, logits, vector, shares, tokens: all, layers, lens, embedding };
    this.#remember(pass);
    return pass;
  }

  /**
   * A longer task, in slices: it pauses after each pass, with the share that is done. Between two
   * slices only whole passes may be computed, as `run` does. Throws a SelectionError for a class, token or
   * explainer that does not exist.
   * @param {Task} task
   * @returns {Generator<number, any, void>}
   */
  *work({ target, explainer = "", token = 0, kept = [], temperature = 1, outputs = "one_of", ...rest }) {
    const { like: other = null, ...wish } = rest;
    const like = other && this.#features(other);
    const pass = this.run({ ...wish, answer: false });
    const m = /** @type {import("./machine.js").Machine} */ (this.#machine);
    const { config } = m;
    const surgery = new Surgery(wish.interventions ?? [], config, wish.donors);
    const isToken = Number.isInteger(token) && token >= 0 && token < config.num_tokens;
    if (!Number.isInteger(target) || target >= config.num_classes || !isToken)
      throw new SelectionError("no_class", {});
    const answering = like ? featured(m, this.#labels) : m;
    const of = { m, pass, surgery, pixels: normalised(m, pass.picture), target, like, answering };
    if (like) of.pass = { ...pass, logits: /** @type {Float32Array} */ (pass.vector) };
    if (!explainer) return yield* scores(of, kept, outputs, temperature);
    if (!Object.hasOwn(EXPLAINERS, explainer)) throw new SelectionError("no_class", {});
    const made = EXPLAINERS[explainer](of, token);
    const found = "next" in made ? yield* made : made;
    return like ? { ...found, likeness: cosineOf(of.pass.logits, like) } : found;
  }

  /** Logits and vector of the tokens that went through the last block. */
  #answer(surgery) {
    const m = /** @type {import("./machine.js").Machine} */ (this.#machine);
    const pools = m.config.global_pool !== "";
    const [logits, answering] = [sound(head(m, surgery)), featured(m, this.#labels)];
    return { logits, vector: pools ? (answering === m ? logits : head(answering, surgery)) : null };
  }

  /** The vector of a picture that another one is compared with. */
  #features(picture) {
    const known = this.#liked;
    if (known && isEqual(known.picture, picture)) return known.vector;
    const { vector } = this.run({ picture, answer: true });
    if (!vector) throw new SelectionError("no_class", {});
    this.#liked = { picture, vector };
    return vector;
  }

  /** The picture after a `perturb`, of the intact model. Throws a SelectionError. */
  #fooledBy(machine, { config, labels, outputs, details }, picture, change) {
    if (!labels || !["", "one_of"].includes(outputs) || config.num_classes < 2)
      throw new SelectionError("fool_classes");
    const key = JSON.stringify(change);
    const known = this.#fooled.find((one) => one.key === key && isEqual(one.picture, picture));
    if (known) return known.after;
    const temperature = Number(details.temperature ?? 1);
    const after = fooled(machine, picture, change, new Surgery([], config), temperature);
    this.#fooled = [{ picture, key, after }, ...this.#fooled].slice(0, MOST_FOOLED);
    return after;
  }

  /**
   * The earlier pass that has the most blocks in common with this one, and their number `at`.
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

  /** Remember a pass, and never forget the latest pass without interventions. */
  #remember(pass) {
    const intact = this.#remembered.find(({ interventions }) => interventions.length === 0);
    this.#remembered = [pass, ...this.#remembered].slice(0, MOST_REMEMBERED);
    if (intact && !this.#remembered.includes(intact)) this.#remembered[MOST_REMEMBERED - 1] = intact;
  }
}

/** Whether two pictures are equal. @param {Uint8Array} picture @param {Uint8Array} other */
function isEqual(picture, other) {
  let at = 0;
  while (at < picture.length && picture[at] === other[at]) at++;
  return at === picture.length;
}

/**
 * Whether two lists of interventions leave the same tokens before a block, given the same picture. Lists with
 * transplants never do: the donor's tokens are not compared.
 */
function isSame(ours, theirs, block) {
  const [a, b] = [ours, theirs].map((list) =>
    list.filter((item) => Surgery.since(item) <= block && KINDS[item.kind].touches !== "pixels"),
  );
  return !a.some(({ kind }) => kind === "transplant") && JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The logits, unchanged. Throws an Error of the kind "unsound" if a logit is not finite; another picture
 * may still work.
 * @param {Float32Array} logits
 */
function sound(logits) {
  if (logits.every(Number.isFinite)) return logits;
  throw Object.assign(new Error("the model computes numbers that are not finite"), { kind: "unsound" });
}
