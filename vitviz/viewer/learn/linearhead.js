/**
 * Linear head: multinomial logistic regression on vectors of pictures, and how good it is on pictures that it
 * has not seen; as in vitviz/many/linear.py.
 */

import { FOLDS, PENALTY } from "../engine/tables.js";
import { softmax } from "../maths/outputs.js";

const STEEPEST = 1e-7; // largest entry of the gradient at which a fit ends
const MOST_STEPS = 2000;
const REMEMBERED = 12; // steps that L-BFGS looks back
const NARROWEST = 1e-6; // least deviation of a column that is divided by it
const LOST = 0.05; // share of the pictures left out that the threshold may refuse

/**
 * Pictures to learn from. vectors: for each picture its vector and that of its mirror image, (D) each;
 * labels: class of each picture; groups: group of each picture, pictures of one group are left out together;
 * classes: number of classes; none: the class of pictures that show none of the others; changed: vectors of
 * changed copies of each picture, which get an answer but are not learned from.
 * @typedef {{vectors: ArrayLike<number>[][], labels: number[], groups: (string|number)[], classes: number,
 *   none?: number, changed?: ArrayLike<number>[][]}} Taught
 * A head: logits = weight x + bias. weight: (classes * D); bias: (classes).
 * @typedef {{weight: Float64Array, bias: Float64Array}} Head
 */

/**
 * The head of pictures, of which every class has one at least.
 * @param {Taught} taught
 * @param {Head|null} [near]  a head to begin at; the result is the same
 * @returns {Head}
 */
export function fitted({ vectors, labels, classes }, near = null) {
  const rows = vectors.flat();
  const dim = rows[0].length;
  const { mean, std } = spreadOf(rows, dim);
  const scaled = new Float64Array(rows.length * dim);
  rows.forEach((row, at) => {
    for (let i = 0; i < dim; i++) scaled[at * dim + i] = (row[i] - mean[i]) / std[i];
  });
  const truths = vectors.flatMap((both, at) => both.map(() => labels[at]));
  // The weights of all classes, then their biases.
  const start = new Float64Array(classes * (dim + 1));
  if (near) {
    for (let k = 0; k < classes; k++) {
      start[classes * dim + k] = near.bias[k];
      for (let i = 0; i < dim; i++) {
        start[k * dim + i] = near.weight[k * dim + i] * std[i];
        start[classes * dim + k] += near.weight[k * dim + i] * mean[i];
      }
    }
  }
  const found = lowest((at, gradient) => lossOf(scaled, truths, classes, at, gradient), start);
  const [weight, bias] = [found.slice(0, classes * dim), found.slice(classes * dim)];
  const middle = bias.reduce((sum, value) => sum + value, 0) / classes;
  for (let k = 0; k < classes; k++) {
    bias[k] -= middle;
    for (let i = 0; i < dim; i++) {
      weight[k * dim + i] /= std[i];
      bias[k] -= weight[k * dim + i] * mean[i];
    }
  }
  return { weight, bias };
}

/** Mean and population deviation of each column; a deviation near 0 counts as 1. */
function spreadOf(rows, dim) {
  const [mean, std] = [new Float64Array(dim), new Float64Array(dim)];
  for (const row of rows) for (let i = 0; i < dim; i++) mean[i] += row[i] / rows.length;
  for (const row of rows) for (let i = 0; i < dim; i++) std[i] += (row[i] - mean[i]) ** 2 / rows.length;
  return { mean, std: std.map((variance) => (Math.sqrt(variance) < NARROWEST ? 1 : Math.sqrt(variance))) };
}

/** Mean cross-entropy with the penalty at `at`; its slope is written to `gradient`. */
function lossOf(scaled, truths, classes, at, gradient) {
  const count = truths.length;
  const dim = at.length / classes - 1;
  let loss = 0;
  gradient.fill(0);
  const logits = new Float64Array(classes);
  for (let row = 0; row < count; row++) {
    const begin = row * dim;
    for (let k = 0; k < classes; k++) {
      let sum = at[classes * dim + k];
      for (let i = 0, w = k * dim; i < dim; i++) sum += at[w + i] * scaled[begin + i];
      logits[k] = sum;
    }
    const most = Math.max(...logits);
    let total = 0;
    for (let k = 0; k < classes; k++) total += Math.exp(logits[k] - most);
    loss += (Math.log(total) + most - logits[truths[row]]) / count;
    for (let k = 0; k < classes; k++) {
      const off = (Math.exp(logits[k] - most) / total - Number(truths[row] === k)) / count;
      gradient[classes * dim + k] += off;
      for (let i = 0, w = k * dim; i < dim; i++) gradient[w + i] += off * scaled[begin + i];
    }
  }
  for (let i = 0; i < classes * dim; i++) {
    loss += (PENALTY / 2) * at[i] * at[i];
    gradient[i] += PENALTY * at[i];
  }
  return loss;
}

/**
 * The lowest place of a convex function, by L-BFGS (Nocedal and Wright, Numerical Optimization, 7.4) with steps
 * that are halved until they go down.
 * @param {(at: Float64Array, gradient: Float64Array) => number} of  also writes the gradient
 * @param {Float64Array} start
 */
function lowest(of, start) {
  let [at, slope] = [start, new Float64Array(start.length)];
  let value = of(at, slope);
  const steps = /** @type {{moved: Float64Array, turned: Float64Array, scale: number}[]} */ ([]);
  for (let step = 0; step < MOST_STEPS && steepest(slope) > STEEPEST; step++) {
    const way = wayDown(slope, steps);
    const falls = dot(way, slope);
    const nextSlope = new Float64Array(start.length);
    let [next, nextValue] = [at, Infinity];
    let length = steps.length > 0 ? 1 : Math.min(1, 1 / Math.sqrt(dot(slope, slope)));
    for (; length > 1e-12; length /= 2) {
      next = at.map((x, i) => x + length * way[i]);
      nextValue = of(next, nextSlope);
      if (nextValue <= value + 1e-4 * length * falls) break;
    }
    // What is left is rounding.
    if (!(nextValue < value) && !(steepest(nextSlope) < steepest(slope))) break;
    const moved = next.map((x, i) => x - at[i]);
    const turned = nextSlope.map((x, i) => x - slope[i]);
    const bend = dot(moved, turned);
    if (bend > 0) steps.push({ moved, turned, scale: 1 / bend });
    if (steps.length > REMEMBERED) steps.shift();
    [at, slope, value] = [next, nextSlope, nextValue];
  }
  return at;
}

/** The direction of the next step, from the slope and the last steps. */
function wayDown(slope, steps) {
  const way = slope.map((x) => -x);
  const shares = steps.map(() => 0);
  for (let s = steps.length - 1; s >= 0; s--) {
    shares[s] = steps[s].scale * dot(steps[s].moved, way);
    add(way, steps[s].turned, -shares[s]);
  }
  const last = steps[steps.length - 1];
  if (last) {
    const size = 1 / (last.scale * dot(last.turned, last.turned));
    for (let i = 0; i < way.length; i++) way[i] *= size;
  }
  steps.forEach(({ moved, turned, scale }, s) => add(way, moved, shares[s] - scale * dot(turned, way)));
  return way;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function add(to, other, times) {
  for (let i = 0; i < to.length; i++) to[i] += times * other[i];
}

const steepest = (slope) => slope.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/**
 * The probabilities of the classes for one vector. (classes)
 * @param {Head} head
 * @param {ArrayLike<number>} vector
 */
export function sharesOf({ weight, bias }, vector) {
  const logits = Array.from(bias, (sum, k) => {
    for (let i = 0; i < vector.length; i++) sum += weight[k * vector.length + i] * vector[i];
    return sum;
  });
  return softmax(logits, 1);
}

/**
 * The fold in which each picture is left out: the groups of a class in the order of their arrival, in turn; null
 * for the pictures of a class with one group, which cannot be left out.
 * @param {Pick<Taught, "labels"|"groups">} taught
 * @returns {(number|null)[]}
 */
export function foldsOf({ labels, groups }) {
  const orders = new Map();
  labels.forEach((label, at) => {
    if (!orders.has(label)) orders.set(label, []);
    if (!orders.get(label).includes(groups[at])) orders.get(label).push(groups[at]);
  });
  return labels.map((label, at) => {
    const order = orders.get(label);
    return order.length < 2 ? null : order.indexOf(groups[at]) % FOLDS;
  });
}

/**
 * A head, and how good it is on held-out pictures. confusions: number of held-out pictures, by class and
 * answer; right, count: number of right answers and of held-out pictures, by class; shares: probabilities for
 * each picture, from a head that has not seen it, null if it cannot be held out; changed: probabilities for
 * each changed picture, from the same head; threshold: the least probability of an answer that is not "none
 * of these", null if nothing was held out; pair: the two classes that are confused most often, how often, and
 * the picture of each that looks most like the other.
 * @typedef {{head: Head, confusions: number[][], right: number[], count: number[], shares: (number[]|null)[],
 *   changed: number[][][], threshold: number|null,
 *   pair: {classes: [number, number], times: number, pictures: [number, number]}|null}} Learned
 */

/**
 * Learns from pictures, in steps: pauses after each head with the share that is done.
 * @param {Taught} taught  every class has a picture
 * @returns {Generator<number, Learned, void>}
 */
export function* learned(taught) {
  const { vectors, labels, groups, classes, none, changed = [] } = taught;
  const head = fitted(taught);
  const folds = foldsOf(taught);
  const all = [...new Set(folds.filter((fold) => fold !== null))];
  const shares = /** @type {(number[]|null)[]} */ (labels.map(() => null));
  const answers = /** @type {number[][][]} */ (labels.map(() => []));
  for (const [done, fold] of all.entries()) {
    yield (1 + done) / (1 + all.length);
    const stays = (_, at) => folds[at] !== fold;
    const without = fitted(
      {
        vectors: vectors.filter(stays),
        labels: labels.filter(stays),
        groups: groups.filter(stays),
        classes,
      },
      head,
    );
    folds.forEach((one, at) => {
      if (one !== fold) return;
      shares[at] = [...sharesOf(without, vectors[at][0])];
      answers[at] = (changed[at] ?? []).map((vector) => [...sharesOf(without, vector)]);
    });
  }
  const confusions = Array.from({ length: classes }, () => new Array(classes).fill(0));
  shares.forEach((found, at) => {
    if (found) confusions[labels[at]][best(found)] += 1;
  });
  return {
    head,
    confusions,
    right: confusions.map((row, label) => row[label]),
    count: confusions.map((row) => row.reduce((sum, times) => sum + times, 0)),
    shares,
    changed: answers,
    threshold: thresholdOf(shares.filter((_, at) => labels[at] !== none)),
    pair: pairOf(shares, labels, confusions),
  };
}

/** The class with the largest share. @param {ArrayLike<number>} shares */
export const best = (shares) =>
  Array.from(shares).reduce((most, share, at, all) => (share > all[most] ? at : most), 0);

/**
 * The least probability that accepts 95 % of the answers to held-out pictures. shares: those of pictures that
 * show one of the things.
 */
function thresholdOf(shares) {
  const largest = shares.flatMap((found) => (found ? [Math.max(...found)] : [])).sort((a, b) => a - b);
  return largest.length > 0 ? largest[Math.floor(LOST * largest.length)] : null;
}

/** @returns {Learned["pair"]} */
function pairOf(shares, labels, confusions) {
  let pair = /** @type {Learned["pair"]} */ (null);
  confusions.forEach((row, one) => {
    for (let other = one + 1; other < row.length; other++) {
      const times = row[other] + confusions[other][one];
      if (times > (pair?.times ?? 0))
        pair = { classes: [one, other], times, pictures: [nearest(one, other), nearest(other, one)] };
    }
  });
  return pair;

  /** The picture of a class that looks most like another; -1 if none was left out. */
  function nearest(label, other) {
    return shares.reduce(
      (most, found, at) =>
        found && labels[at] === label && (most < 0 || found[other] > (shares[most] ?? [])[other]) ? at : most,
      -1,
    );
  }
}
