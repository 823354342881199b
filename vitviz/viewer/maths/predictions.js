/**
 * Predictions: the answer, from logits and the description of the classes, as in
 * vitviz/probe/measure/predictions.py.
 */

import { strongest } from "./attention.js";
import { probabilitiesOf } from "./outputs.js";

/**
 * Results from the logits of a pass; `probabilities`: of all classes, null of values.
 * @typedef {{probabilities: number[]|null, predictions: import("../types.js").Prediction[],
 *   groups: import("../types.js").Group[],
 *   answer: import("../types.js").Answer|null, known_or_not: import("../types.js").KnownOrNot|null}} Results
 * @typedef
 *   {Pick<import("../types.js").Model,
 *   "labels"|"groups"|"outputs"|"temperature"|"calibrated"|"threshold"|"known_by"|"kept"|"certain"|"none"
 *   |"not_sure"|"holds_its_group"|"true"|"named">} Classes
 * @typedef {Record<number, string>} Labels  names by class, at least of those that are listed
 */

/** `known_by` of models scored by their largest probability (taught heads); others: by the log-sum-exp. */
export const LARGEST = "largest probability";
const MOST_LISTED = 10;
const MOST_FOLLOWED = 5;
const MOST_NAMES = 120;

/**
 * The most probable classes and groups, best first, and the answer. Equal logits are ordered by class, equal
 * groups by their first classes; values stand in the order of the outputs.
 * @param {ArrayLike<number>} logits  of each class; empty for a model that names no classes
 * @param {Classes} classes
 * @param {Labels} labels
 * @param {number} k  most classes and groups that are returned
 * @returns {Results}
 */
export function resultsOf(logits, classes, labels = classes.labels ?? {}, k = MOST_LISTED) {
  const probabilities = probabilitiesOf(logits, classes.outputs, classes.temperature);
  const predicted = (index) => ({
    index,
    label: labels[index],
    logit: logits[index],
    probability: probabilities && probabilities[index],
  });
  const first = firstOf(logits, Math.max(k, 2), classes.outputs).map(predicted); // a second one for "none of these"
  const predictions = first.slice(0, k);
  if (classes.outputs !== "one_of") {
    const answer = predictions.length > 0 ? separateAnswer(logits, probabilities, predicted, classes) : null;
    return { probabilities, predictions, groups: [], answer, known_or_not: null };
  }
  const groups = logits.length > 0 && classes.groups ? groupsOf(probabilities, classes.groups) : [];
  const known_or_not = logits.length > 0 ? knownOrNot(logits, classes, predictions[0]?.index) : null;
  // a picture that is refused is answered by its nearest class, never by "none of these"
  const best = first.find(({ index }) => known_or_not?.known !== false || index !== classes.none);
  const answer = best ? answerOf(best, groups[0], known_or_not, classes) : null;
  return { probabilities, predictions, groups: groups.slice(0, k), answer, known_or_not };
}

/**
 * The classes to follow through the layers: the first k of the last layer, then the first of any other layer.
 * @param {Float32Array[]} layers  the logits after each block
 * @param {Pick<Classes, "outputs"|"temperature">} classes  the temperature is applied to all layers
 * @param {Labels} labels
 * @param {number} k
 * @returns {import("../types.js").LensLine[]}  [] of values
 */
export function lensLines(layers, { outputs, temperature }, labels, k = MOST_FOLLOWED) {
  if (outputs === "value") return [];
  const shares = layers.map(
    (logits) => /** @type {number[]} */ (probabilitiesOf(logits, outputs, temperature)),
  );
  const followed = new Set([
    ...strongest(layers[layers.length - 1], k),
    ...layers.flatMap((logits) => strongest(logits, 1)),
  ]);
  return [...followed].map((index) => ({
    index,
    label: labels[index],
    probabilities: shares.map((of) => of[index]),
    ranks: layers.map((logits) => logits.reduce((rank, logit) => rank + (logit > logits[index] ? 1 : 0), 1)),
  }));
}

/**
 * The line of the most probable class after a block; null where several share the first rank.
 * @param {import("../types.js").LensLine[]} lines
 * @param {number} layer
 */
export function firstAfter(lines, layer) {
  const first = lines.filter(({ ranks }) => ranks[layer] === 1);
  return first.length === 1 ? first[0] : null;
}

/**
 * All classes by group, sorted by its name, "" without groups; empty if there are too many to read.
 * @param {Classes} classes
 * @returns {{name: string, labels: string[]}[]}
 */
export function classesByGroup({ labels, groups }) {
  if (!labels || labels.length > MOST_NAMES) return [];
  const names = [...new Set(labels.map((_, index) => groups?.[index] ?? ""))].sort();
  return names.map((name) => ({
    name,
    labels: labels.filter((_, index) => (groups?.[index] ?? "") === name),
  }));
}

/** Log-sum-exp of some numbers; for logits the log-odds that a picture shows any of the classes. */
function logSumExp(values) {
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
}

/** The indices of the k largest logits; of values those of the first k. */
function firstOf(logits, k, outputs) {
  return outputs === "value" ? Array.from(logits, (_, index) => index).slice(0, k) : strongest(logits, k);
}

/** @returns {import("../types.js").Group[]} */
function groupsOf(probabilities, words) {
  const groups = new Map();
  words.forEach((name, index) => {
    const group = groups.get(name) ?? { name, probability: 0, classes: [] };
    group.probability += probabilities[index];
    group.classes.push(index);
    groups.set(name, group);
  });
  return [...groups.values()].sort((a, b) => b.probability - a.probability);
}

/**
 * @param {ArrayLike<number>} logits
 * @param {Classes} classes
 * @param {number|undefined} first  the most probable class
 * @returns {import("../types.js").KnownOrNot|null}
 */
function knownOrNot(logits, { threshold, known_by, kept, outputs, none }, first) {
  if (threshold === null) return null;
  const score =
    known_by === LARGEST
      ? Math.max(.../** @type {number[]} */ (probabilitiesOf(logits, outputs, 1)))
      : logSumExp(Array.from(logits));
  return { score, threshold, known: score >= threshold && first !== (none ?? -1), kept };
}

/** @returns {import("../types.js").Answer} */
function answerOf(best, group, knowledge, classes) {
  const { calibrated, certain, not_sure: least, holds_its_group: holds, true: likely } = classes;
  // the best class can lie outside the best group, which is the sum of several classes
  const isClass =
    !group || (group.classes.includes(best.index) && best.probability >= holds * group.probability);
  const { name, probability } = isClass ? { ...best, name: best.label } : group;
  return {
    kind: isClass ? "class" : "group",
    name,
    probability,
    sure: calibrated ? probability >= least : null,
    known: knowledge && knowledge.known,
    level: levelOf(),
    outputs: "one_of",
    classes: [best.index],
    parts: [],
    count: 1,
  };

  /** @returns {import("../types.js").Answer["level"]} */
  function levelOf() {
    if (knowledge?.known === false) return "none";
    if (calibrated && probability < least) return "not_sure";
    return probability < (certain ?? likely) ? "maybe" : "answer";
  }
}

/** The answer of outputs that do not share out one certainty. @returns {import("../types.js").Answer} */
function separateAnswer(logits, probabilities, predicted, { outputs, true: least, named }) {
  const order = firstOf(logits, logits.length, outputs);
  const classes = probabilities ? order.filter((index) => probabilities[index] >= least) : [];
  const count = probabilities ? Math.max(1, classes.length) : logits.length;
  const parts = order.slice(0, Math.min(named, count)).map(predicted);
  return {
    kind: "class",
    name: parts[0].label,
    probability: parts[0].probability,
    sure: null,
    known: null,
    level: probabilities && classes.length === 0 ? "none" : "answer",
    outputs,
    classes,
    parts,
    count,
  };
}
