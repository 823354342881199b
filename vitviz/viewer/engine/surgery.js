/**
 * Surgery: a list of interventions, checked together and applied to a pass; vitviz/probe/intervene/ has the
 * same in Python.
 */

import { Chance } from "../maths/chance.js";
import { cutsOf } from "../maths/cuts.js";
import { pictureWith } from "./pictures.js";
import { COUNTS, KINDS, LIMITS, NEEDS } from "./tables.js";

/** @typedef {{kind: string, [field: string]: any}} Intervention  as in JSON */

/**
 * Interventions that cannot be done. `key` and `values` are of a text of
 * vitviz/languages/en/experiments.json.
 */
export class SelectionError extends Error {
  constructor(key, values = {}) {
    super(key + " " + JSON.stringify(values));
    this.key = key;
    this.values = values;
  }
}

const has = (some, number) => some === "all" || some.includes(number);
const isNumber = (value, least = -LIMITS.number) =>
  Number.isInteger(value) && value >= least && value <= LIMITS.number;

const malformedError = (kind, value) =>
  new SelectionError("malformed", { kind, example: KINDS[kind].example, value });

/** Throws a SelectionError for a field that does not hold what its form says. */
function checkField(one, name, { shape, of, words, count }) {
  const value = one[name];
  const malformed = malformedError(one.kind, one);
  if (shape === "picture" || (typeof value === "string" && words.includes(value))) return;
  if (shape === "number" && isNumber(value, of === "seeds" ? 0 : undefined)) return;
  if ((shape !== "list" && shape !== "pairs") || !Array.isArray(value)) throw malformed;
  if (value.length === 0) throw new SelectionError("empty", { kind: one.kind, what: name });
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
  if (twice !== undefined) throw new SelectionError("twice", { kind: one.kind, what: name, number: twice });
  if (count !== null && value.length !== count) throw malformed;
}

/**
 * A list with what was left out, each of a good form. Throws a SelectionError.
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
    const one = { ...Object.fromEntries(defaults), ...value };
    const lacks = Object.keys(fields).some((name) => !Object.hasOwn(one, name));
    const wrong = lacks || Object.keys(one).some((name) => name !== "kind" && !Object.hasOwn(fields, name));
    if (wrong) throw malformedError(kind, value);
    for (const [name, form] of Object.entries(fields)) checkField(one, name, form);
    return one;
  });
}

/**
 * Interventions that fit a model and each other. Throws a SelectionError.
 * @typedef {{tokens: Float32Array, width: number}} Donor  the tokens of another pass before the layer of a
 *   transplant
 */
export class Surgery {
  /**
   * @param {any} interventions  as in JSON
   * @param {import("./config.js").Config} config
   * @param {(Donor|null)[]} [donors]  of each intervention that is a transplant
   * @param {boolean} [shortens]  whether tokens that are removed are left out of the sequence; else they are
   *   masked
   */
  constructor(interventions, config, donors = [], shortens = false) {
    this.config = config;
    /** @type {Map<string, Uint8Array>} */
    this.masks = new Map();
    this.interventions = readInterventions(interventions);
    this.donors = donors;
    this.interventions.forEach((one, at) => this.#check(one, donors[at] ?? null));
    this.removed = this.#removed();
    const { num_prefix_tokens: prefix, num_tokens: tokens } = config;
    const gone = new Set(this.removed.map((patch) => prefix + patch));
    /** The tokens that are not removed. */
    this.staying = Array.from({ length: tokens }, (_, token) => token).filter((token) => !gone.has(token));
    /** Whether those alone go through the blocks. */
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
   * The same where only some patches go through the blocks, all of which are there.
   * @param {number[]} patches
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

  /** The token in whose place each one of the sequence stands; null: each in its own. */
  get angled() {
    return this.isShort ? this.staying.map((token) => this.places?.[token] ?? token) : this.places;
  }

  /** Those of a kind. @param {string} kind */
  of(kind) {
    return this.interventions.filter((one) => one.kind === kind);
  }

  // --- checks ---

  #check(one, donor) {
    const { config } = this;
    const { kind } = one;
    const fields = Object.entries(KINDS[kind].fields);
    for (const [name, { of, past }] of fields) {
      if (!Object.hasOwn(COUNTS, of)) continue;
      const end = config[COUNTS[of]] + past;
      const wrong = [one[name]]
        .flat(2)
        .find((value) => typeof value === "number" && !(value >= 0 && value < end));
      if (wrong !== undefined)
        throw new SelectionError("out_of_range", { kind, what: name, last: end - 1, value: wrong });
    }
    for (const [name, { needs }] of fields) {
      const need = NEEDS[needs[one[name]]];
      if (need && !need.fields.some((field) => config[field])) throw new SelectionError(need.error, { kind });
    }
    if (kind === "shuffle") this.#checkCells(one);
    if (kind === "transplant") this.#checkDonor(one, donor);
  }

  #checkCells({ cells }) {
    const { rows, cols } = this.config;
    const fits = cells > 0 && rows % cells === 0 && cols % cells === 0 && (rows !== cells || cols !== cells);
    if (!fits) throw new SelectionError("cells", { cells, rows, cols });
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
    for (const one of this.interventions) {
      const { same, again } = KINDS[one.kind];
      const touched =
        ["remove", "keep"].includes(one.kind) || !Array.isArray(one.patches)
          ? undefined
          : one.patches.find((patch) => gone.has(patch));
      if (touched !== undefined) throw new SelectionError("removed_and", { patch: touched, kind: one.kind });
      if (same === null || again) continue;
      const fields = Object.fromEntries(same.map((name) => [name, one[name]]));
      const key = JSON.stringify([one.kind, fields]);
      if (before.has(key)) throw new SelectionError(one.kind + "_twice", fields);
      before.add(key);
    }
    for (const { layer } of this.of("branch").filter(({ branch }) => branch === "attention")) {
      const idle = this.interventions.find(
        ({ kind, ...one }) =>
          kind !== "branch" &&
          ["edges", "heads"].includes(KINDS[kind].touches) &&
          [one.layer, one.layers].flat().includes(layer),
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

  // --- what is done to the pass ---

  /** The picture with what is done to its pixels. (h, w, C) bytes */
  picture(picture) {
    return this.interventions.reduce((before, one) => pictureWith(before, one, this.config), picture);
  }

  /** Whether positions of one kind are off, by this name or with all others. */
  without(part) {
    return this.of("positions").some(({ by }) => by === "off" || by === part);
  }

  /** The token whose position each token has. (N); null: each its own */
  #placesOf() {
    const one = this.of("positions").find(({ by }) => by === "shuffled");
    if (!one) return null;
    const { num_patches: patches, num_prefix_tokens: prefix, num_tokens: tokens } = this.config;
    const order = new Chance(one.seed, "positions").permutation(patches);
    return Uint32Array.from({ length: tokens }, (_, token) =>
      token < prefix ? token : prefix + order[token - prefix],
    );
  }

  /** The position embedding that is added in this pass. (N or P, D) -> the same; null: none */
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
   * Where a query cannot look at a key in a head of a layer; null: it can everywhere. (n, n) rows of the
   * sequence, 1 for a cut edge
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
   * Scores, or the shares that they become, without the edges that are cut, in their place: a score of minus
   * infinity, a share of 0. (`count` rows)
   */
  cut(layer, head, scores, stride, count, without) {
    const mask = this.mask(layer, head);
    if (!mask) return;
    const keys = this.sequence.length;
    for (let query = 0; query < count; query++) {
      for (let key = 0; key < keys; key++)
        if (mask[query * keys + key]) scores[query * stride + key] = without;
      // of a row without an edge what fills it would be left
      scores.fill(without, query * stride + keys, (query + 1) * stride);
    }
  }

  /**
   * The row whose query each row has in a layer, -1 for a query of zeros; null: each its own.
   * @returns {number[]|null}
   */
  queries(layer) {
    const { num_prefix_tokens: prefix, num_patches: patches } = this.config;
    const { sequence, present } = this;
    const some = this.interventions.filter(
      (one) => ["even", "scramble"].includes(one.kind) && has(one.layers, layer),
    );
    return some.length === 0
      ? null
      : some.reduce(
          (rows, one) => {
            if (one.kind === "even") {
              const isEven = { cls: (row) => row === 0, patches: (row) => row >= prefix, all: () => true }[
                one.rows
              ];
              return rows.map((from, row) => (isEven(row) ? -1 : from));
            }
            // Each patch has a random rank; those that stay go by theirs.
            const ranks = new Chance(one.seed, "scramble").permutation(patches);
            const staying = present.filter((row) => row >= prefix);
            const order = [...staying].sort(
              (a, b) => ranks[sequence[a] - prefix] - ranks[sequence[b] - prefix],
            );
            const after = [...rows];
            staying.forEach((row, at) => {
              after[row] = rows[order[at]];
            });
            return after;
          },
          [...sequence.keys()],
        );
  }

  /** The queries of a head with some rows set to 0, or in another order, in their place. */
  asked(layer, q, stride) {
    const rows = this.queries(layer);
    if (!rows) return;
    const before = q.slice(0, rows.length * stride);
    rows.forEach((from, row) => {
      if (from < 0) q.fill(0, row * stride, (row + 1) * stride);
      else q.set(before.subarray(from * stride, (from + 1) * stride), row * stride);
    });
  }

  /** What the gradient of such queries is for those before, in its place. */
  askedBack(layer, gradient, stride) {
    const rows = this.queries(layer);
    if (!rows) return;
    const after = gradient.slice(0, rows.length * stride);
    gradient.fill(0, 0, rows.length * stride);
    rows.forEach((from, row) => {
      if (from >= 0)
        after.subarray(row * stride, (row + 1) * stride).forEach((one, i) => {
          gradient[from * stride + i] += one;
        });
    });
  }

  /**
   * What a head gathered, without it where it is off, in its place. The same is done to gradients: of a head
   * that is off nothing matters, of one set to its mean only the sum over the tokens.
   */
  headOff(layer, head, mixed, stride, dim) {
    const {
      present,
      sequence: { length: count },
    } = this;
    for (const { by } of this.of("head").filter((one) => one.layer === layer && one.head === head)) {
      for (let i = 0; i < dim; i++) {
        const sum = by === "zero" ? 0 : present.reduce((total, row) => total + mixed[row * stride + i], 0);
        for (let row = 0; row < count; row++) mixed[row * stride + i] = sum / present.length;
      }
    }
  }

  /** Whether what a token gets in a layer depends on what others gather there. */
  meets(layer) {
    return this.interventions.some(
      (one) =>
        (one.kind === "head" && one.layer === layer) || (one.kind === "transplant" && one.layer > layer),
    );
  }

  /** Whether the attention or the MLP of a block is left out. */
  lacks(layer, branch) {
    return this.of("branch").some((one) => one.layer === layer && one.branch === branch);
  }

  /** The tokens before a layer with those of others among them, in their place. */
  transplant(layer, x, stride) {
    const { embed_dim: dim } = this.config;
    for (const { token, row, tokens } of this.transplanted(layer))
      x.set(tokens.subarray(token * dim, (token + 1) * dim), row * stride);
  }

  /**
   * The tokens before a layer that are those of others, and their rows. Before the first block all tokens are
   * in the sequence.
   */
  transplanted(layer) {
    const { num_tokens: all, num_prefix_tokens: prefix } = this.config;
    const rows = layer === 0 ? Array.from({ length: all }, (_, token) => token) : this.sequence;
    return this.interventions.flatMap((one, at) => {
      if (one.kind !== "transplant" || one.layer !== layer) return [];
      const { tokens } = /** @type {Donor} */ (this.donors[at]);
      const is =
        one.patches === "all"
          ? () => true
          : one.patches === "cls"
            ? (token) => token === 0
            : (token) => one.patches.includes(token - prefix);
      return rows.map((token, row) => ({ token, row, tokens })).filter(({ token }) => is(token));
    });
  }

  /**
   * From which tokens on an intervention changes a pass: 0 for those before the first block.
   * @param {Intervention} one
   */
  static since({ kind, layer, layers = "all" }) {
    if (kind === "transplant") return layer;
    if (kind === "positions" || KINDS[kind].touches === "pixels") return 0;
    return (layer ?? (layers === "all" ? 0 : Math.min(...layers))) + 1;
  }
}
