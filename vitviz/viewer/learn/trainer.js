/**
 * Trainer: a small Vision Transformer that learns digits step by step, by the recipe "playground" of
 * vitviz/train/recipes.py: AdamW, a cosine schedule, gradients clipped to a norm of 5. Equal settings make
 * equal runs, up to the rounding of a processor.
 */

import { readConfig } from "../engine/config.js";
import { eachLine } from "../engine/vit.js";
import { Chance } from "../maths/chance.js";
import { writeSafetensors } from "../maths/safetensors.js";
import { backward, forward, makeBatch, packAll } from "./batch.js";
import { drawn, read, write } from "./parameters.js";
import { rightOf } from "./defaults.js";
import { Twister } from "../maths/twister.js";

/**
 * positions: kind of position embedding; pool: token or mean that the head reads; train: number of training
 * digits, taken evenly; labels: the true ones, or shuffled among the digits, which can only be memorised;
 * patches:
 * in order, or permuted: the same way in every picture, or another way in each.
 * @typedef {{positions: "learned"|"none"|"rotary", patch: number, dim: number, depth: number, heads: number,
 *   pool: "cls"|"mean", train: number, lr: number,
 *   batch: number, epochs: number, seed: number, labels: "true"|"shuffled", patches:
 *     "ordered"|"same"|"each"}} Settings
 * @typedef {{pixels: Uint8Array, labels: Uint8Array}} Pictures  (n, 28, 28), 0 to 255, and the class of each
 * @typedef {{train: Pictures, test: Pictures, classes: string[]}} Digits
 * @typedef {{step: number, right: number, loss: number, probabilities: Float32Array}} Measured
 * @typedef {{step: number, numbers: Float32Array[]}} Kept
 */

/** Fixed hyperparameters, as in the recipe. */
const RECIPE = { side: 28, firsts: 0.9, squares: 0.95, eps: 1e-8, decay: 0.05, clip: 5, final: 0.01 };

/** Step of the finite difference of a weight. */
const FINITE = 2 ** -5;

/**
 * The config of a model with these settings, in the form of a checkpoint.
 * @param {Settings} settings
 * @param {number} classes
 */
function configOf({ positions, patch, dim, depth, heads, pool }, classes) {
  return {
    image_size: [RECIPE.side, RECIPE.side],
    patch_size: [patch, patch],
    in_chans: 1,
    num_classes: classes,
    embed_dim: dim,
    depth,
    num_heads: heads,
    pos_embed: positions === "learned",
    rotary: positions === "rotary" ? { kind: "axial" } : null,
    class_token: pool === "cls",
    global_pool: pool === "cls" ? "token" : "avg",
  };
}

/**
 * Mean and standard deviation of all pixels, from 0 to 1, rounded as in vitviz/train/dataset.py.
 * @param {Uint8Array} pixels
 * @param {ArrayLike<number>} chosen  indices of pictures
 * @param {number} count  of pixels in a picture
 */
function momentsOf(pixels, chosen, count) {
  const levels = new Float64Array(256);
  for (let picture = 0; picture < chosen.length; picture++)
    for (let at = chosen[picture] * count; at < (chosen[picture] + 1) * count; at++)
      levels[pixels[at]] += 1 / count / chosen.length;
  const mean = levels.reduce((sum, share, level) => sum + (share * level) / 255, 0);
  const variance = levels.reduce((sum, share, level) => sum + share * (level / 255 - mean) ** 2, 0);
  const four = (value) => Math.round(1e4 * value) / 1e4;
  return { mean: four(mean), std: Math.max(four(Math.sqrt(variance)), 1e-4) };
}

/** Index of the number with the largest absolute value. @param {ArrayLike<number>} numbers */
function steepest(numbers) {
  let most = 0;
  for (let at = 1; at < numbers.length; at++) if (Math.abs(numbers[at]) > Math.abs(numbers[most])) most = at;
  return most;
}

/** Cross-entropy of a picture of the batch, exact also close to 0, and finite wherever the logits are. */
function lossOf({ f, at, classes: stride, config: { num_classes: classes } }, picture, label) {
  const logits = at.logits / 4 + picture * stride;
  let [most, others] = [0, 0];
  for (let i = 0; i < classes; i++) most = Math.max(most, f[logits + i] - f[logits + label]);
  for (let i = 0; i < classes; i++)
    if (i !== label) others += Math.exp(f[logits + i] - f[logits + label] - most);
  return most > 0 ? most + Math.log(Math.exp(-most) + others) : Math.log1p(others);
}

/** Write the probabilities of the classes, (count, classes), to `probabilities` from index `first` on. */
function answersOf({ f, at, classes: stride, config }, count, probabilities, first) {
  const { num_classes: classes } = config;
  for (let picture = 0; picture < count; picture++) {
    const logits = at.logits / 4 + picture * stride;
    let [most, sum] = [-Infinity, 0];
    for (let i = 0; i < classes; i++) most = Math.max(most, f[logits + i]);
    for (let i = 0; i < classes; i++)
      sum += probabilities[first + picture * classes + i] = Math.exp(f[logits + i] - most);
    for (let i = 0; i < classes; i++) probabilities[first + picture * classes + i] /= sum;
  }
}

export class Trainer {
  /**
   * Throws a RangeError for settings that make no model, or fewer digits than one step needs.
   * @param {Settings} settings
   * @param {Digits} digits
   * @param {(bytes: number) => import("../engine/kernels.js").Kernels} makeKernels
   * @param {{config?: any, weights?: Record<string, Float32Array>, kept?: Kept|null}} [of]  config:
   *   of another model; weights: its initial ones; kept: a snapshot of a run with the same settings and
   *   digits, which continues as if it had never stopped
   */
  constructor(
    settings,
    digits,
    makeKernels,
    { config = configOf(settings, digits.classes.length), weights, kept } = {},
  ) {
    const { train, batch, epochs, seed, labels } = (this.settings = settings);
    this.digits = digits;
    this.described = config;
    this.config = readConfig(config);
    const all = digits.train.labels.length;
    const chosen = Uint32Array.from({ length: Math.min(train, all) }, (_, at) =>
      Math.floor((at * all) / Math.min(train, all)),
    );
    this.chosen = chosen;
    this.stepsPerEpoch = Math.floor(chosen.length / batch);
    if (this.stepsPerEpoch < 1)
      throw new RangeError(chosen.length + " digits do not fill one step of " + batch);
    this.steps = Math.max(1, Math.round(epochs * this.stepsPerEpoch));
    this.labels = Uint8Array.from(chosen, (digit) => digits.train.labels[digit]);
    if (labels === "shuffled")
      this.labels = Uint8Array.from(
        new Chance(seed, "scramble").permutation(chosen.length),
        (other) => digits.train.labels[chosen[other]],
      );
    const pixels = RECIPE.side ** 2;
    Object.assign(this, momentsOf(digits.train.pixels, chosen, pixels));
    const m = (this.m = makeBatch(this.config, batch, makeKernels));
    this.#values = Float32Array.from(
      { length: 256 },
      (_, level) => Math.fround(Math.fround(level / 255) - Math.fround(this.mean)) / Math.fround(this.std),
    );
    this.#places = new Uint32Array(pixels);
    const line = this.config.patch_size[1];
    eachLine(this.config, m.pixels, (from, to) => {
      for (let i = 0; i < line; i++) this.#places[from + i] = to + i;
    });
    this.#moves = this.#movesOf();
    this.#probabilities = new Float32Array(batch * this.config.num_classes);
    if (kept) {
      [m.p, m.m, m.v].forEach((to, part) => m.f.set(kept.numbers[part], to / 4));
      this.stepsDone = kept.step;
    } else {
      for (const [name, numbers] of Object.entries(weights ?? drawn(this.config, seed)))
        write(m.numbers, m.layout.all[name], numbers);
    }
    packAll(m);
  }

  /** @type {import("./batch.js").Batch} */
  m;
  /** @type {Settings} */
  settings;
  /** @type {Digits} */
  digits;
  described;
  /** @type {import("../engine/config.js").Config} */
  config;
  mean = 0;
  std = 1;
  stepsDone = 0;
  /** The model's input for each value of a pixel. */
  #values = new Float32Array(0);
  /** Index of each pixel among the patches of its picture. */
  #places = new Uint32Array(0);
  /** Permutation of the patches of each picture, training pictures first; a single one if all share it. */
  #moves = /** @type {Uint8Array|null} */ (null);
  #probabilities = new Float32Array(0);
  #epoch = -1;
  #order = new Uint32Array(0);

  #movesOf() {
    const { patches, seed } = this.settings;
    if (patches === "ordered") return null;
    const { num_patches: P } = this.config;
    const chance = new Chance(seed, "shuffle");
    const count = patches === "same" ? 1 : this.digits.train.labels.length + this.digits.test.labels.length;
    const moves = new Uint8Array(count * P);
    for (let picture = 0; picture < count; picture++) moves.set(chance.permutation(P), picture * P);
    return moves;
  }

  /** Write a picture into the batch, at index `place`. */
  #put(pictures, index, place) {
    const { m } = this;
    const { num_patches: P } = this.config;
    const [f, pixels, to] = [m.f, RECIPE.side ** 2, m.at.patches / 4 + place * P * m.pixels];
    const from = index * pixels;
    const isAlike = this.settings.patches === "same";
    const row = isAlike ? 0 : (pictures === this.digits.test ? this.digits.train.labels.length : 0) + index;
    for (let i = 0; i < pixels; i++) {
      let at = this.#places[i];
      if (this.#moves) at = this.#moves[row * P + Math.floor(at / m.pixels)] * m.pixels + (at % m.pixels);
      f[to + at] = this.#values[pictures.pixels[from + i]];
    }
  }

  /** Indices of the next step's digits among the chosen ones, in the order of vitviz/train/order.py. */
  #next() {
    const [epoch, place] = [
      Math.floor(this.stepsDone / this.stepsPerEpoch),
      this.stepsDone % this.stepsPerEpoch,
    ];
    if (epoch !== this.#epoch) {
      this.#order = new Twister(this.settings.seed * 1_000_003 + epoch).permutation(this.chosen.length);
      this.#epoch = epoch;
    }
    return this.#order.subarray(place * this.settings.batch, (place + 1) * this.settings.batch);
  }

  /** The learning rate of the next step. */
  get rate() {
    const progress = (1 - Math.cos((Math.PI * this.stepsDone) / Math.max(1, this.steps))) / 2;
    return this.settings.lr * (1 - (1 - RECIPE.final) * progress);
  }

  /**
   * Compute the loss of the pictures at `patches`, and the gradients of all parameters.
   * @param {ArrayLike<number>} labels
   */
  #learn(labels) {
    const { m } = this;
    const { num_classes: classes } = this.config;
    const count = labels.length;
    forward(m, count);
    answersOf(m, count, this.#probabilities, 0);
    let loss = 0;
    for (let picture = 0; picture < count; picture++) {
      loss += lossOf(m, picture, labels[picture]) / count;
      for (let i = 0; i < classes; i++)
        m.f[m.at.dlogits / 4 + picture * m.classes + i] =
          (this.#probabilities[picture * classes + i] - Number(i === labels[picture])) / count;
    }
    backward(m, count);
    return loss;
  }

  /** Factor that clips the norm of all gradients to the recipe's maximum. */
  #shorter() {
    const { gradients } = this.m;
    let sum = 0;
    for (let i = 0; i < gradients.length; i++) sum += gradients[i] * gradients[i];
    return Math.min(1, RECIPE.clip / (Math.sqrt(sum) + 1e-6));
  }

  /** Arguments of `adamw` for the next step. */
  #update() {
    const { rate, stepsDone } = this;
    const [first, second] = [1 - RECIPE.firsts ** (stepsDone + 1), 1 - RECIPE.squares ** (stepsDone + 1)];
    return { rate: rate / first, root: 1 / Math.sqrt(second), decay: 1 - rate * RECIPE.decay };
  }

  /**
   * One step of AdamW. Throws a RangeError if the loss or a gradient is not finite, before the weights
   * change.
   * @returns {{loss: number, rate: number}}  loss of the step's digits before it
   */
  step() {
    const { m, rate } = this;
    const next = this.#next();
    next.forEach((place, at) => this.#put(this.digits.train, this.chosen[place], at));
    const loss = this.#learn(this.#labelsOf(next));
    const { rate: learned, root, decay } = this.#update();
    const { decayed, size } = m.layout;
    const shorter = this.#shorter();
    if (!Number.isFinite(loss + shorter))
      throw new RangeError(
        "after " + this.stepsDone + " steps the loss is no number any more: take a lower learning rate",
      );
    for (const [from, to, keeps] of [
      [0, decayed, decay],
      [decayed, size, 1],
    ]) {
      const [p, g, means, squares] = [m.p, m.g, m.m, m.v].map((part) => part + 4 * from);
      m.kernels.adamw(
        p,
        g,
        means,
        squares,
        to - from,
        shorter,
        keeps,
        1 - RECIPE.firsts,
        1 - RECIPE.squares,
        learned,
        root,
        RECIPE.eps,
      );
    }
    packAll(m);
    this.stepsDone += 1;
    return { loss, rate };
  }

  #batchLabels = new Uint8Array(0);
  #labelsOf(places) {
    if (this.#batchLabels.length !== places.length) this.#batchLabels = new Uint8Array(places.length);
    places.forEach((place, at) => {
      this.#batchLabels[at] = this.labels[place];
    });
    return this.#batchLabels;
  }

  /**
   * Results on the test digits: the step, the share that is right, the mean loss, and the probabilities,
   * (count, classes).
   * @param {number} [count]  only the first so many digits
   * @returns {Measured}
   */
  measure(count) {
    const measuring = this.measuring(count);
    for (;;) {
      const { done, value } = measuring.next();
      if (done) return /** @type {Measured} */ (value);
    }
  }

  /**
   * `measure` in pieces, between which other requests can be answered; no step may be taken before it ends.
   * @param {number} [count]
   * @returns {Generator<void, Measured>}
   */
  *measuring(count = Infinity) {
    count = Math.min(count, this.digits.test.labels.length);
    const { m, stepsDone: step } = this;
    const { test } = this.digits;
    const { num_classes: classes } = this.config;
    const { batch } = this.settings;
    const probabilities = new Float32Array(count * classes);
    let loss = 0;
    for (let first = 0; first < count; first += batch) {
      if (first > 0) yield;
      const some = Math.min(batch, count - first);
      for (let at = 0; at < some; at++) this.#put(test, first + at, at);
      forward(m, some);
      answersOf(m, some, probabilities, first * classes);
      for (let at = 0; at < some; at++) loss += lossOf(m, at, test.labels[first + at]) / count;
    }
    return { step, right: rightOf(probabilities, test.labels.subarray(0, count)), loss, probabilities };
  }

  /**
   * A snapshot from which the constructor continues a run: the step, all parameters, and both of AdamW's
   * means.
   * @returns {Kept}
   */
  keep() {
    const { m, stepsDone: step } = this;
    const { size } = m.layout;
    return { step, numbers: [m.p, m.m, m.v].map((from) => m.f.slice(from / 4, from / 4 + size)) };
  }

  /**
   * Reorder the position embedding of a model that learned from pictures with one common permutation of the
   * patches, so that it fits pictures in order: each patch gets the position of the place it was moved to.
   * @param {Record<string, {data: Float32Array}>} tensors
   */
  #ordered({ pos_embed: learned }) {
    if (this.settings.patches !== "same" || !this.#moves || !learned) return;
    const { num_patches: P, num_prefix_tokens: prefix, embed_dim: D } = this.config;
    const rows = learned.data.slice();
    for (let patch = 0; patch < P; patch++) {
      const from = (prefix + this.#moves[patch]) * D;
      learned.data.set(rows.subarray(from, from + D), (prefix + patch) * D);
    }
  }

  /** A .safetensors file that `vitviz.load` reads, a model of whole pictures. @returns {ArrayBuffer} */
  weights() {
    const { layout, numbers } = this.m;
    const { seed, positions } = this.settings;
    const tensors = Object.fromEntries(
      Object.values(layout.all).map((item) => [item.name, { shape: item.shape, data: read(numbers, item) }]),
    );
    this.#ordered(tensors);
    const size = this.config.image_size;
    const described = {
      config: this.described,
      labels: this.digits.classes,
      preprocess: {
        size,
        channels: 1,
        mean: [this.mean],
        std: [this.std],
        crop_pct: 1,
        crop_mode: "center",
        interpolation: "bicubic",
      },
      details: {
        seed: String(seed),
        recipe: JSON.stringify({ name: "playground", seed, positions, wide_start: true, zero_head: true }),
        steps: String(this.stepsDone),
      },
      words: {},
    };
    return writeSafetensors(tensors, { vitviz: JSON.stringify(described) });
  }

  /**
   * The parts of a training step for one digit alone, without taking it: the model's answer, the loss, the
   * gradient of the logits, the norm of each parameter's gradient; and for one weight (the one with the
   * steepest slope, of all or of the parameter `name`) its index `at` in the parameter, the gradient, the
   * same by a finite difference, AdamW's means, and the update. Throws a RangeError for an unknown name.
   * @param {number} index  of a training digit @param {string} [name]
   */
  apart(index, name = "") {
    const { m } = this;
    const { num_classes: classes } = this.config;
    const { train } = this.digits;
    const place = this.chosen.indexOf(index);
    const label = place < 0 ? train.labels[index] : this.labels[place];
    this.#put(train, index, 0);
    const loss = this.#learn([label]);
    const [logits, gradients] = [m.at.logits, m.at.dlogits].map((part) =>
      m.f.slice(part / 4, part / 4 + classes),
    );
    const slopes = Object.entries(this.gradients()).map(([parameter, numbers]) => ({
      parameter,
      numbers,
      at: steepest(numbers),
      length: Math.sqrt(numbers.reduce((sum, slope) => sum + slope * slope, 0)),
    }));
    const known = slopes.filter(({ parameter }) =>
      name ? parameter === name : m.layout.all[parameter].shape.length > 1,
    );
    if (known.length === 0) throw new RangeError("the model has no parameter " + name);
    const { parameter, at } = known[steepest(known.map(({ numbers, at: most }) => numbers[most]))];
    return {
      index,
      label,
      logits,
      probabilities: this.#probabilities.slice(0, classes),
      gradients,
      loss,
      lengths: Object.fromEntries(slopes.map(({ parameter: each, length }) => [each, length])),
      rate: this.rate,
      step: this.stepsDone,
      ...this.#weightApart(m.layout.all[parameter], at, label),
    };
  }

  /** The parts of a step for number `at` of a parameter, after `#learn` of the digit with this label. */
  #weightApart({ name, shape, at: first, into, stride }, at, label) {
    const { m } = this;
    const there = first + Math.floor(at / into) * stride + (at % into);
    const [value, gradient, shorter] = [m.numbers[there], m.gradients[there], this.#shorter()];
    const lossAt = (moved) => {
      m.numbers[there] = moved;
      packAll(m);
      forward(m, 1);
      return lossOf(m, 0, label);
    };
    const difference = (h) => {
      const [above, below] = [Math.fround(value + h), Math.fround(value - h)];
      return (lossAt(above) - lossAt(below)) / (above - below);
    };
    // Richardson extrapolation: two step sizes cancel the leading error.
    const finite = (4 * difference(FINITE / 2) - difference(FINITE)) / 3;
    m.numbers[there] = value;
    packAll(m);
    const { rate, root, decay } = this.#update();
    const [mean, square] = [m.m, m.v].map((part) => m.f[part / 4 + there]);
    const moved = mean + (1 - RECIPE.firsts) * (shorter * gradient - mean);
    const squared = square + (1 - RECIPE.squares) * ((shorter * gradient) ** 2 - square);
    const kept = there < m.layout.decayed ? decay : 1;
    const update = (kept - 1) * value - (rate * moved) / (Math.sqrt(squared) * root + RECIPE.eps);
    return { shorter, weight: { name, shape, at, value, gradient, finite, mean, square, update } };
  }

  /**
   * Gradients of the last batch, by parameter name.
   * @returns {Record<string, Float32Array>}
   */
  gradients() {
    return Object.fromEntries(
      Object.values(this.m.layout.all).map((item) => [item.name, read(this.m.gradients, item)]),
    );
  }
}
