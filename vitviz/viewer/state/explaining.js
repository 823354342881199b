/** The selected explanations: explainers and class of a selection, as far as a source has them. */

import { LIKE } from "../data/explanations.js";

export const ANSWER = "answer"; // the class that the model answers, whichever that is

/** Maps side by side at most: a chart tells so many lines apart. */
export const MOST_MAPS = 5;

const KEY = /^[a-z0-9_]{1,40}$/;

/** The fields of the selection. @type {Record<string, import("./panels.js").Field>} */
export const FIELDS = {
  // The explainer over the picture, and those side by side, joined by dots; "": the first ones.
  explainer: {
    start: "",
    possible: (value) => value === "" || (typeof value === "string" && KEY.test(value)),
  },
  maps: {
    start: "",
    possible: (value) =>
      typeof value === "string" && value.split(".").every((key) => key === "" || KEY.test(key)),
  },
  target: {
    start: ANSWER,
    possible: (value) => [ANSWER, LIKE].includes(value) || (Number.isInteger(value) && value >= 0),
  },
};

/**
 * The explainers side by side, at least one; those that the source does not have are left out.
 * @param {any} selection
 * @param {import("../data/source.js").Source} source
 * @returns {import("../types.js").Explainer[]}
 */
export function shownExplainers({ maps }, { explanations }) {
  const wanted = [...new Set(String(maps).split("."))].flatMap((key) => explanations.named(key) ?? []);
  return wanted.length > 0 ? wanted.slice(0, MOST_MAPS) : atFirst(explanations.all);
}

/** The first explainer that knows no class, and the first that knows one; where none does, the second too. */
function atFirst(all) {
  const [free, ofClass] = [false, true].map((known) =>
    all.filter(({ needs }) => needs.includes("class") === known),
  );
  return [...free.slice(0, 1), ...ofClass, ...free.slice(1)].slice(0, 2);
}

/**
 * The explainer over the picture: the chosen one if it is there, else the last of those side by side.
 * @param {any} selection
 * @param {import("../data/source.js").Source} source
 */
export function mainExplainer(selection, source) {
  return source.explanations.named(selection.explainer) ?? shownExplainers(selection, source).at(-1);
}

/**
 * The score that falls in a fair test, named as in the tables of every language: the probability of a class,
 * or the likeness to the picture beside.
 * @param {number|"like"|null} target
 * @param {import("../data/source.js").Source} source
 * @returns {{score: "probability"|"likeness", target: string}}
 */
export function scoreOf(target, { explanations: { other }, manifest }) {
  if (target === LIKE) return { score: "likeness", target: other?.manifest.photo.name ?? "" };
  const labels = manifest.model.labels ?? manifest.pass.labels;
  return { score: "probability", target: target === null ? "" : (labels?.[target] ?? String(target)) };
}

/**
 * The number of the class that is explained, or LIKE; null in a model without classes, and without another
 * picture beside.
 * @param {any} selection
 * @param {import("../data/source.js").Source} source
 * @returns {number|"like"|null}
 */
export function targetOf({ target }, { explanations, manifest }) {
  const { predictions } = manifest.pass;
  if (explanations.other && (target === LIKE || predictions.length === 0)) return LIKE;
  if (predictions.length === 0) return null;
  return target !== ANSWER && target < manifest.model.num_classes ? target : predictions[0].index;
}

/**
 * The question behind a map: the token is the selected one, not the one under the pointer, for every question
 * can cost passes.
 * @param {any} selection
 * @param {import("../data/source.js").Source} source
 * @param {{key: string}} one
 * @returns {import("../data/explanations.js").Question}
 */
export function questionOf(selection, source, { key }) {
  return { key, token: selection.token, target: targetOf(selection, source) };
}

/** The list of keys with one more or one less, as the field `maps` has it; at least one stays. */
export function toggled(keys, key) {
  const next = keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key];
  return (next.length > 0 ? next : keys).join(".");
}
