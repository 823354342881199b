/**
 * Surgery: checks a list of interventions and applies it to a pass, as vitviz/probe/intervene/ does in
 * Python.
 */

import { Chance } from "../maths/chance.js";
import { cutsOf, has } from "../maths/cuts.js";
import { pictureWith } from "./pixelinterventions.js";
import { COUNTS, KINDS, LIMITS, NEEDS } from "./tables.js";

/** @typedef {{kind: string, [field: string]: any}} Intervention  as in JSON */

/**
 * Interventions that cannot be done. `key` names a text of vitviz/languages/en/experiments.json, `values`
 * fill it.
 */
export class SelectionError extends Error {
  constructor(key, values = {}) {
    super(key + " " + JSON.stringify(values));
    this.key = key;
    this.values = values;
  }
}

const isNumber = (value, least = -LIMITS.number) =>
  Number.isInteger(value) && value >= least && value <= LIMITS.number;

const malformedError = (kind, value) =>
  new SelectionError("malformed", { kind, example: KINDS[kind].example, value });

/** Throw a SelectionError for a field whose value does not match its form. */
function checkField(intervention, name, { shape, of, words, count }) {
  const value = intervention[name];
  const malformed = malformedError(intervention.kind, intervention);
  if (shape === "picture" || (typeof value === "string" && words.includes(value))) return;
  if (shape === "number" && isNumber(value, of === "seeds" ? 0 : undefined)) return;
  if (shape === "factor" && Number.isFinite(value)) return;
  if ((shape !== "list" && shape !== "pairs") || !Array.isArray(value)) throw malformed;
  if (value.length === 0) throw new SelectionError("empty", { kind: intervention.kind, what: name });
  if (shape === "pairs") {
    if (value.length > LIMITS.pairs)
      throw new SelectionError("many_edges", { most: LIMITS.pairs, count: value.length });
    if (
      !value.every(
        (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((number) => isNumber(number)),
      )
    )
      throw malformed;
    return;
  }
  if (!value.every((number) => isNumber(number))) throw malformed;
  const twice = value.find((number, at) => value.indexOf(number) < at);
  if (twice !== undefined)
    throw new SelectionError("twice", { kind: intervention.kind, what: name, number: twice });
  if (count !== null && value.length !== count) throw malformed;
}

/**
 * The interventions with their defaults filled in. Throws a SelectionError for one that is malformed.
 * @param {any} values
 * @returns {Intervention[]}
 */
function readInterventions(values) {
  if (!Array.isArray(values)) throw new SelectionError("no_list", { value: values });
  if (values.length > LIMITS.interventions)
    throw new SelectionError("many", { most: LIMITS.interventions, count: values.length });
  return values.map((value) => {
    const kind = value?.kind;
    if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind))
      throw new SelectionError("no_kind", { kinds: Object.keys(KINDS), value });
    const { fields } = KINDS[kind];
    const defaults = Object.entries(fields).flatMap(([name, form]) =>
      form.default === null ? [] : [[name, form.default]],
    );
    const intervention = { ...Object.fromEntries(defaults), ...value };
    const lacks = Object.keys(fields).some((name) => !Object.hasOwn(intervention, name));
    const wrong =
      lacks || Object.keys(intervention).some((name) => name !== "kind" && !Object.hasOwn(fields, name));
    if (wrong) throw malformedError(kind, value);
    for (const [name, form] of Object.entries(fields)) checkField(intervention, name, form);
    return intervention;
  });
}

/**
 * Interventions that fit a model and each other.
 * @typedef {{tokens: Float32Array, width: number}} Donor  the tokens of another pass before the layer of a
 *   transplant
 * @typedef {{token: number, row: number}} Named  a token and its row in the sequence
 */
export class Surgery {
  /**
   * Throws a SelectionError for interventions that cannot be done.
   * @param {any} interventions  as in JSON
   * @param {import("./config.js").Config} config
   * @param {(Donor|null)[]} [donors]  one for each intervention; null if it is no transplant
   * @param {boolean} [shortens]  whether removed tokens leave the sequence; otherwise they are masked
   */
  constructor(interventions, config, donors = [], shortens = false) {
    this.config = config;
    /** @type {Map<string, Uint8Array>} */
    this.masks = new Map();
    this.interventions = readInterventions(interventions);
    this.donors = donors;
    this.interventions.forEach((item, at) => this.#check(item, donors[at] ?? null));
    this.removed = this.#removed();
    const { num_prefix_tokens: prefix, num_tokens: tokens } = config;
    const gone = new Set(this.removed.map((patch) => prefix + patch));
    /** The tokens that are not removed. */
    this.staying = Array.from({ length: tokens }, (_, token) => token).filter((token) => !gone.has(token));
    /** Whether only the tokens of `staying` go through the blocks. */
    this.isShort = false;
    this.#checkContradictions();
    const manifest = /** @type {any} */ ({
      pass: { changes: this.interventions, removed: this.removed },
      model: { num_tokens: tokens, prefix_tokens: { length: prefix } },
    });
    this.cuts = Array.from({ length: config.depth }, (_, layer) => cutsOf(manifest, layer));
    if (this.of("cut").length > 0) this.#checkBlind();
    if (shortens && gone.size > 0) Object.assign(this, { isShort: true, masks: new Map() });
    this.places = this.#placesOf();
  }

  /**
   * The same surgery with only some patches in the sequence.
   * @param {number[]} patches  none of them removed
   * @returns {Surgery}
   */
  keeping(patches) {
    const short = Object.create(this);
    const { num_prefix_tokens: prefix } = this.config;
    const staying = [...Array(prefix).keys(), ...patches.map((patch) => prefix + patch)];
    return Object.assign(short, { staying, isShort: true, masks: new Map() });
  }

  /** The tokens that go through the blocks, in the order of their rows. */
  get sequence() {
    return this.isShort ? this.staying : Array.from({ length: this.config.num_tokens }, (_, token) => token);
  }

  /** The rows of tokens that are not removed. */
  get present() {
    return this.isShort ? [...this.staying.keys()] : this.staying;
  }

  /** The rows of tokens that are removed. */
  get absent() {
    const there = new Set(this.present);
    return [...this.sequence.keys()].filter((row) => !there.has(row));
  }

  /** For each row of the sequence the token whose angles it gets; null: its own. */
  get angled() {
    return this.isShort ? this.staying.map((token) => this.places?.[token] ?? token) : this.places;
  }

  /** The interventions of a kind. @param {string} kind */
  of(kind) {
    return this.interventions.filter((item) => item.kind === kind);
  }

  // --- checks ---

  #check(intervention, donor) {
    const { config } = this;
    const { kind } = intervention;
    const fields = Object.entries(KINDS[kind].fields);
    if (kind === "add" && (config.num_classes === 0 || ["", "map"].includes(config.global_pool)))
      throw new SelectionError("add_classes");
    for (const [name, { of, past }] of fields) {
      if (!Object.hasOwn(COUNTS, of)) continue;
      const end = config[COUNTS[of]] + past;
      const wrong = [intervention[name]]
        .flat(2)
        .find((value) => typeof value === "number" && !(value >= 0 && value < end));
      if (wrong !== undefined)
        throw new SelectionError("out_of_range", { kind, what: name, last: end - 1, value: wrong });
    }
    for (const [name, { needs }] of fields) {
      const need = NEEDS[needs[intervention[name]]];
      if (need && !need.fields.some((field) => config[field])) throw new SelectionError(need.error, { kind });
    }
    if (kind === "shuffle") this.#checkCells(intervention);
    if (kind === "perturb") this.#checkRanges(intervention);
    if (kind === "transplant") this.#checkDonor(intervention, donor);
    if (kind === "add" && Math.abs(intervention.factor) > LIMITS.factor)
      throw new SelectionError("add_range", { most: LIMITS.factor, value: intervention.factor });
  }

  #checkCells({ cells }) {
    const { rows, cols } = this.config;
    const fits = cells > 0 && rows % cells === 0 && cols % cells === 0 && (rows !== cells || cols !== cells);
    if (!fits) throw new SelectionError("cells", { cells, rows, cols });
  }

  #checkRanges(intervention) {
    const { num_classes, global_pool } = this.config;
    if (num_classes === 0 || global_pool === "") throw new SelectionError("fool_classes");
    for (const [what, least, most] of [
      ["epsilon", 0, LIMITS.levels],
      ["steps", 1, LIMITS.fooling_steps],
    ]) {
      const value = intervention[what];
      if (!(value >= least && value <= most))
        throw new SelectionError("fool_range", { what, least, most, value });
    }
  }

  #checkDonor({ patches }, donor) {
    const { num_tokens: tokens, embed_dim: dim } = this.config;
    if (!donor) throw new SelectionError("needs_donor");
    const theirs = donor.tokens.length / donor.width;
    if (donor.width !== dim || (patches !== "cls" && theirs !== tokens))
      throw new SelectionError("donor_shape", {
        theirs: theirs + " x " + donor.width,
        ours: tokens + " x " + dim,
      });
  }

  #removed() {
    const gone = new Set(this.of("remove").flatMap(({ patches }) => patches));
    const keeps = this.of("keep");
    for (const { patches } of keeps) {
      const both = patches.find((patch) => gone.has(patch));
      if (both !== undefined) throw new SelectionError("removed_and_kept", { patch: both });
    }
    const all = Array.from({ length: this.config.num_patches }, (_, patch) => patch);
    const removed = all.filter(
      (patch) => gone.has(patch) || keeps.some(({ patches }) => !patches.includes(patch)),
    );
    if (removed.length === all.length) throw new SelectionError("nothing_left");
    return removed;
  }

  #checkContradictions() {
    const before = new Set();
    const gone = new Set(this.removed);
    for (const item of this.interventions) {
      const { same, again } = KINDS[item.kind];
      const touched =
        ["remove", "keep"].includes(item.kind) || !Array.isArray(item.patches)
          ? undefined
          : item.patches.find((patch) => gone.has(patch));
      if (touched !== undefined) throw new SelectionError("removed_and", { patch: touched, kind: item.kind });
      if (same === null || again) continue;
      const fields = Object.fromEntries(same.map((name) => [name, item[name]]));
      const key = JSON.stringify([item.kind, fields]);
      if (before.has(key)) throw new SelectionError(item.kind + "_twice", fields);
      before.add(key);
    }
    for (const { layer } of this.of("branch").filter(({ branch }) => branch === "attention")) {
      const idle = this.interventions.find(
        ({ kind, ...item }) =>
          kind !== "branch" &&
          ["edges", "heads"].includes(KINDS[kind].touches) &&
          [item.layer, item.layers].flat().includes(layer),
      );
      if (idle) throw new SelectionError("branch_off", { layer, kind: idle.kind });
    }
  }

  #checkBlind() {
    const { depth, num_heads: heads, num_tokens: tokens } = this.config;
    const seen = new Set();
    for (let layer = 0; layer < depth; layer++) {
      for (let head = 0; head < heads; head++) {
        const mask = this.mask(layer, head);
        if (!mask || seen.has(mask)) continue;
        seen.add(mask);
        for (let token = 0; token < tokens; token++) {
          if (mask.subarray(token * tokens, (token + 1) * tokens).every(Boolean))
            throw new SelectionError("blind", { token, layer });
        }
      }
    }
  }

  // --- changes of the pass ---

  /**
   * The picture after the interventions on its pixels. (h, w, C) bytes
   * @param {Uint8Array} picture
   * @param {(before: Uint8Array, change: Intervention) => Uint8Array} fool  applies a "perturb", for which it
   *   needs the model
   */
  picture(picture, fool) {
    return this.interventions.reduce(
      (before, item) =>
        item.kind === "perturb" ? fool(before, item) : pictureWith(before, item, this.config),
      picture,
    );
  }

  /** Whether a kind of positions is off, alone (`part`) or with all others. */
  without(part) {
    return this.of("positions").some(({ by }) => by === "off" || by === part);
  }

  /** For each token the token whose position it has, (N); null: its own. */
  #placesOf() {
    const shuffle = this.of("positions").find(({ by }) => by === "shuffled");
    if (!shuffle) return null;
    const { num_patches: patches, num_prefix_tokens: prefix, num_tokens: tokens } = this.config;
    const order = new Chance(shuffle.seed, "positions").permutation(patches);
    return Uint32Array.from({ length: tokens }, (_, token) =>
      token < prefix ? token : prefix + order[token - prefix],
    );
  }

  /** The position embedding of this pass, in the same shape (N or P, D); null: none is added. */
  positions(embedding) {
    if (!embedding || this.without("learned off")) return null;
    const { embed_dim: dim, num_tokens: tokens } = this.config;
    const first = tokens - embedding.length / dim;
    const { places } = this;
    if (!places) return embedding;
    return Float32Array.from(embedding, (_, at) => {
      const token = places[first + Math.floor(at / dim)] - first;
      return embedding[token * dim + (at % dim)];
    });
  }

  /**
   * Mask of a head in a layer, (n, n) rows of the sequence: 1 where the edge from a query to a key is cut;
   * null: no edge is.
   */
  mask(layer, head) {
    const cut = this.cuts[layer];
    if (!cut || (this.isShort && this.of("cut").length === 0)) return null;
    const { sequence } = this;
    const count = sequence.length;
    const key = this.interventions
      .map(({ kind, layers, heads }) => Number(kind === "cut" && has(layers, layer) && has(heads, head)))
      .join("");
    let mask = this.masks.get(key);
    if (!mask) {
      mask = new Uint8Array(count * count).map((_, at) =>
        Number(cut(head, sequence[Math.floor(at / count)], sequence[at % count])),
      );
      this.masks.set(key, mask);
    }
    return mask;
  }

  /**
   * Overwrite scores (or shares) of cut edges in place. without: the value for them, -Infinity for scores and
   * 0 for shares; count: number of rows.
   */
  cut(layer, head, scores, stride, count, without) {
    const mask = this.mask(layer, head);
    if (!mask) return;
    const keys = this.sequence.length;
    for (let query = 0; query < count; query++) {
      for (let key = 0; key < keys; key++)
        if (mask[query * keys + key]) scores[query * stride + key] = without;
      // the padding, too: in a row without any edge nothing else would be left
      scores.fill(without, query * stride + keys, (query + 1) * stride);
    }
  }

  /**
   * Index of the row whose query each row uses in a layer, -1 for a query of zeros; null: each uses its own.
   * @returns {number[]|null}
   */
  queries(layer) {
    const { num_prefix_tokens: prefix, num_patches: patches } = this.config;
    const some = this.interventions.filter(
      (item) => ["even", "scramble"].includes(item.kind) && has(item.layers, layer),
    );
    if (some.length === 0) return null;
    const { sequence, present } = this;
    let rows = [...sequence.keys()];
    for (const item of some) {
      if (item.kind === "even") {
        const isEven = { cls: (row) => row === 0, patches: (row) => row >= prefix, all: () => true }[
          item.rows
        ];
        rows = rows.map((from, row) => (isEven(row) ? -1 : from));
        continue;
      }
      // Each patch has a random rank; the remaining patches are sorted by it.
      const ranks = new Chance(item.seed, "scramble").permutation(patches);
      const staying = present.filter((row) => row >= prefix);
      const order = [...staying].sort((a, b) => ranks[sequence[a] - prefix] - ranks[sequence[b] - prefix]);
      const after = [...rows];
      staying.forEach((row, at) => {
        after[row] = rows[order[at]];
      });
      rows = after;
    }
    return rows;
  }

  /** Zero or permute the queries of a head, in place, as `queries` says. */
  editQueries(layer, q, stride) {
    const rows = this.queries(layer);
    if (!rows) return;
    const before = q.slice(0, rows.length * stride);
    rows.forEach((from, row) => {
      if (from < 0) q.fill(0, row * stride, (row + 1) * stride);
      else q.set(before.subarray(from * stride, (from + 1) * stride), row * stride);
    });
  }

  /** Gradient at the input of `editQueries`, in place of that at its output. */
  editQueriesBack(layer, gradient, stride) {
    const rows = this.queries(layer);
    if (!rows) return;
    const after = gradient.slice(0, rows.length * stride);
    gradient.fill(0, 0, rows.length * stride);
    rows.forEach((from, row) => {
      if (from >= 0)
        after.subarray(row * stride, (row + 1) * stride).forEach((number, i) => {
          gradient[from * stride + i] += number;
        });
    });
  }

  /**
   * Set the output of a head that is off to zero or to its mean over the tokens, in place. Both are their own
   * backward function: a gradient becomes zero, or its mean.
   */
  headOff(layer, head, mixed, stride, dim) {
    const { present } = this;
    const { length: count } = this.sequence;
    for (const { by } of this.of("head").filter((item) => item.layer === layer && item.head === head)) {
      for (let i = 0; i < dim; i++) {
        const sum = by === "zero" ? 0 : present.reduce((total, row) => total + mixed[row * stride + i], 0);
        for (let row = 0; row < count; row++) mixed[row * stride + i] = sum / present.length;
      }
    }
  }

  /**
   * Whether a layer must output all tokens: a head is set to its mean there, or tokens are replaced after it
   * or added to.
   */
  meets(layer) {
    return this.interventions.some(
      (item) =>
        (["head", "add"].includes(item.kind) && item.layer === layer) ||
        (item.kind === "transplant" && item.layer > layer),
    );
  }

  /** Whether the attention or the MLP of a block is left out. */
  lacks(layer, branch) {
    return this.of("branch").some((item) => item.layer === layer && item.branch === branch);
  }

  /**
   * Replace transplanted tokens before a layer, and add to those of the layer before it, in place and in the
   * order of the list.
   * @param {number} layer
   * @param {Float32Array} x
   * @param {number} stride
   * @param {(item: Intervention, x: Float32Array, rows: Named[]) => void} [add]  the model's part, of add
   */
  edit(layer, x, stride, add) {
    const { embed_dim: dim } = this.config;
    this.interventions.forEach((item, at) => {
      if (item.kind === "add" && item.layer === layer - 1) add?.(item, x, this.named(item, layer));
      if (item.kind !== "transplant" || item.layer !== layer) return;
      const { tokens } = /** @type {Donor} */ (this.donors[at]);
      for (const { token, row } of this.named(item, layer))
        x.set(tokens.subarray(token * dim, (token + 1) * dim), row * stride);
    });
  }

  /** The tokens that are transplanted before a layer, and their rows. @returns {Named[]} */
  transplanted(layer) {
    return this.interventions.flatMap((item) =>
      item.kind === "transplant" && item.layer === layer ? this.named(item, layer) : [],
    );
  }

  /**
   * The tokens that `patches` of an intervention names, and their rows. Before the first block all tokens are
   * in the sequence.
   * @param {Intervention} intervention
   * @param {number} layer
   * @returns {Named[]}
   */
  named({ patches }, layer) {
    const { num_tokens: all, num_prefix_tokens: prefix } = this.config;
    const rows = layer === 0 ? Array.from({ length: all }, (_, token) => token) : this.sequence;
    const is =
      patches === "all"
        ? () => true
        : patches === "cls"
          ? (token) => token === 0
          : (token) => patches.includes(token - prefix);
    return rows.map((token, row) => ({ token, row })).filter(({ token }) => is(token));
  }

  /**
   * Index of the first tokens of a pass that an intervention changes: 0 for those before the first block.
   * @param {Intervention} intervention
   */
  static since({ kind, layer, layers = "all" }) {
    if (kind === "transplant") return layer;
    if (kind === "positions" || KINDS[kind].touches === "pixels") return 0;
    return (layer ?? (layers === "all" ? 0 : Math.min(...layers))) + 1;
  }
}
