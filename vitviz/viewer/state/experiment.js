/**
 * Experiments: lists of interventions, and the short text that stands for one in a selection and in a link.
 *
 *     remove_40-43.60*replace_12_blur_0*head_2_3_zero*cut_patches-to-prefix_all_all
 *
 * Interventions are joined by *, their fields by _ and numbers by a full stop; 40-43 are four numbers. Fields
 * and their order are those of engine/tables.js, and none may be left out: `written` makes such a text.
 *
 * The text is the field `experiment` of a selection; with `beside: OPERATED` the operated analysis stands
 * beside the intact one. A link has both, and so can a step of a lesson, beside whatever else its state
 * selects:
 *
 *     state: { experiment: "remove_40-43", beside: "experiment" }, shows: ["beside"]
 *
 * No document in here.
 */

import { Chance } from "../maths/chance.js";
import { KINDS } from "../engine/tables.js";
import { OWN_PHOTO } from "./photos.js";

/** The key of the analysis that stands beside as the experiment changed it. */
export const OPERATED = "experiment";

/** The picture itself, whose clean tokens a transplant puts back; the server knows the name, too. */
export const ITSELF = "itself";

/**
 * The longest text that stands in a link, the longest that a selection holds, and the most numbers that its
 * ranges stand for.
 */
export const MOST_IN_LINK = 1200;
const [MOST_TEXT, MOST_NUMBERS] = [40_000, 1e5];

/** @typedef {{kind: string, [field: string]: any}} Intervention */
/** @typedef {{depth: number, heads: number, grid: import("../maths/geometry.js").Grid}} Bounds */

const number = {
  write: String,
  read: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
};

const list = {
  write(values) {
    const parts = [];
    for (const value of values) {
      const last = parts[parts.length - 1];
      if (last && value === last[1] + 1) last[1] = value;
      else parts.push([value, value]);
    }
    return parts.map(([from, to]) => (from === to ? String(from) : from + "-" + to)).join(".");
  },
  read(text) {
    const values = [];
    for (const part of text.split(".")) {
      const [from, to = from] = part.split("-").map(number.read);
      if (!/^\d+(-\d+)?$/.test(part) || from === undefined || to === undefined || to < from) return undefined;
      for (let value = from; value <= to; value++) values.push(value);
    }
    return values;
  },
};

/** Pairs of tokens, one number after the other. */
const pairs = {
  write: (edges) => edges.flat().join("."),
  read(text) {
    const flat = text.split(".").map(number.read);
    if (flat.length % 2 || flat.includes(undefined)) return undefined;
    return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]);
  },
};

/**
 * The key of a picture whose tokens are taken: the one that is shown, or one that can stand beside; of a photo
 * of the visitor, only in this page.
 */
const picture = {
  write: String,
  read: (text) =>
    text === ITSELF || /^example-[a-z0-9-]{1,60}$/.test(text) || OWN_PHOTO.test(text) ? text : undefined,
};

/** Whether a key is that of another picture. @param {any} key */
export const isPicture = (key) => key !== ITSELF && picture.read(key) !== undefined;

/** A number that need not be whole, as JavaScript writes it. */
const factor = {
  write: String,
  read: (text) => (/^-?\d{1,9}(\.\d{1,20})?(e-\d{1,3})?$/.test(text) ? Number(text) : undefined),
};

const SHAPES = { number, list, pairs, picture, factor, word: { write: String, read: () => undefined } };

/**
 * The text of a field, and the field of a text: one of its words, or numbers.
 * @param {import("../engine/tables.js").Form} form
 */
const formOf = ({ shape, words }) => ({
  write: (value) => (words.includes(value) ? value.replaceAll(" ", "-") : SHAPES[shape].write(value)),
  read: (text) => words.find((word) => word.replaceAll(" ", "-") === text) ?? SHAPES[shape].read(text),
});

const fieldsOf = (kind) => Object.entries(KINDS[kind].fields);

/** The words that a field of a kind can hold. */
export const wordsOf = (kind, field) => KINDS[kind].fields[field].words;

/**
 * The text of a list of interventions; "" for an empty one.
 * @param {Intervention[]} interventions  each with all of its fields
 * @returns {string}
 */
export function written(interventions) {
  return interventions
    .map((one) =>
      [one.kind, ...fieldsOf(one.kind).map(([name, form]) => formOf(form).write(one[name]))].join("_"),
    )
    .join("*");
}

/** The numbers that the ranges of a text stand for: a few letters can stand for many. @param {string} text */
const spanned = (text) =>
  [...text.matchAll(/(\d{1,9})-(\d{1,9})/g)].reduce(
    (sum, [, from, to]) => sum + Math.max(0, Number(to) - Number(from)),
    0,
  );

/**
 * The interventions of a text.
 * @param {any} text  anything, also from an address
 * @returns {Intervention[]|null}  null for a text that `written` does not write
 */
export function read(text) {
  if (typeof text !== "string" || text.length > MOST_TEXT || spanned(text) > MOST_NUMBERS) return null;
  if (text === "") return [];
  const all = text.split("*").map((one) => {
    const [kind, ...given] = one.split("_");
    if (!Object.hasOwn(KINDS, kind) || given.length !== fieldsOf(kind).length) return null;
    const fields = fieldsOf(kind).map(([name, form], at) => [name, formOf(form).read(given[at])]);
    return fields.some(([, value]) => value === undefined) ? null : { kind, ...Object.fromEntries(fields) };
  });
  return all.includes(null) ? null : /** @type {Intervention[]} */ (all);
}

/**
 * Whether a text is an experiment whose patches, tokens, layers and heads exist in a model. The engine or the
 * host checks whether its interventions fit each other.
 * @param {any} text
 * @param {Bounds} bounds
 */
export function isExperiment(text, { depth, heads, grid }) {
  const ends = { patches: grid.tokens - grid.prefix, tokens: grid.tokens, layers: depth, heads };
  const fits = (value, { of, past }) =>
    [value]
      .flat(2)
      .every((one) => typeof one === "string" || !Object.hasOwn(ends, of) || one < ends[of] + past);
  return (
    read(text)?.every((one) => fieldsOf(one.kind).every(([name, form]) => fits(one[name], form))) ?? false
  );
}

/** Whether an experiment can stand in a link: it is short, and takes nothing that this page alone has. */
export const fitsLink = (text) =>
  text.length <= MOST_IN_LINK && !(read(text) ?? []).some(({ from }) => OWN_PHOTO.test(from));

/** The patches that are gone in an experiment. @returns {Set<number>} */
export function removedIn(interventions, patches) {
  const gone = new Set(interventions.filter(({ kind }) => kind === "remove").flatMap((one) => one.patches));
  for (const { patches: kept } of interventions.filter(({ kind }) => kind === "keep")) {
    for (let patch = 0; patch < patches; patch++) if (!kept.includes(patch)) gone.add(patch);
  }
  return gone;
}

/** The patches whose pixels an experiment changes one by one. @returns {Set<number>} */
export function touchedIn(interventions) {
  return new Set(
    interventions
      .filter(({ kind }) => KINDS[kind].touches === "pixels")
      .flatMap(({ patches = [] }) => patches),
  );
}

/** Whether an experiment changes pixels, tokens, edges or heads. */
export function touches(interventions, what) {
  return interventions.some(({ kind }) => KINDS[kind].touches === what);
}

/**
 * The parts of the line that an experiment changes: photo, patches, position, and layers by their numbers.
 * Tokens are put in before a layer; after the last one that is before the answer.
 * @param {Intervention[]} interventions
 * @param {number} depth
 * @returns {(string|number)[]}
 */
export function partsTouched(interventions, depth) {
  const parts = interventions.flatMap(({ kind, layer, layers }) => {
    if (layers !== undefined) return layers === "all" ? [...Array(depth).keys()] : layers;
    if (layer !== undefined) return [layer === depth ? "answer" : layer];
    return [kind === "positions" ? "position" : KINDS[kind].touches === "pixels" ? "photo" : "patches"];
  });
  return [...new Set(parts)];
}

/** Whether an experiment puts tokens of a second pass in, of this picture or another one. */
export const takesTokens = (interventions) => interventions.some(({ from }) => from !== undefined);

/**
 * Whether a model can be steered toward a class: it has some, and its head reads them from the tokens.
 * @param {import("../types.js").Manifest} manifest
 */
export const isSteered = ({ model, pass }) =>
  ["token", "avg", "token_avg"].includes(model.pool) && pass.predictions.length > 1;

/** Whether an experiment takes tokens of another picture, so that the shown picture alone is not enough. */
export function takesFromOthers(interventions) {
  return interventions.some(({ from }) => from !== undefined && from !== ITSELF);
}

/**
 * The list after one more intervention: a stroke of the same brush as the one before joins it, and what can
 * be only one way at a time replaces what was there.
 * @param {Intervention[]} interventions
 * @param {Intervention} one
 * @returns {Intervention[]}
 */
export function withOne(interventions, one) {
  const last = interventions[interventions.length - 1];
  const { joins, same } = KINDS[one.kind];
  if (joins && last?.kind === one.kind && last.by === one.by) {
    const patches = [...new Set([...last.patches, ...one.patches])].sort((a, b) => a - b);
    return [...interventions.slice(0, -1), { ...one, patches }];
  }
  const rivals = (other) =>
    same !== null &&
    other.kind === one.kind &&
    same.every((name) => String(other[name]) === String(one[name]));
  return [...interventions.filter((other) => !rivals(other)), one];
}

/** The list with some patches brought back: no longer removed or replaced. */
export function broughtBack(interventions, patches) {
  const back = new Set(patches);
  return interventions.flatMap((one) => {
    if (one.kind === "keep")
      return [{ ...one, patches: [...new Set([...one.patches, ...patches])].sort((a, b) => a - b) }];
    if (one.kind !== "remove" && one.kind !== "replace") return [one];
    const left = one.patches.filter((patch) => !back.has(patch));
    return left.length > 0 ? [{ ...one, patches: left }] : [];
  });
}

/**
 * So many different numbers, drawn with a seed; the same for the same seed.
 * @param {number} count
 * @param {number[]} from  the numbers to draw from
 * @param {number} seed
 * @returns {number[]}  in order
 */
export function drawn(count, from, seed) {
  const order = new Chance(seed, "hidden patches").permutation(from.length);
  return [...order.subarray(0, count)].map((place) => from[place]).sort((a, b) => a - b);
}
