/** Short sentences for interventions: the same as in vitviz/probe/intervene/intervention.py. */

import { KINDS, LIMITS } from "../engine/tables.js";

const SQUARES = 3; // at most this many squares are named; beyond that, only counted

/**
 * @param {import("../state/experiment.js").Intervention} change  with all of its fields, as in a manifest
 * @param {(key: string, values?: any) => string} t
 * @param {{square: (patch: number) => string, token: (token: number) => string,
 *   label: (index: number) => string}|null} names  of squares, tokens and classes on the page; null: by
 *   their numbers, as in Python
 * @returns {string}
 */
export function changeText(change, t, names = null) {
  const say = (key, values = {}) => t("experiment." + key, values);
  const { told_by: by, fields } = KINDS[change.kind];
  const values = { ...change };
  if (Array.isArray(change.patches)) values.patches = named(change.patches, say, names);
  for (const name of ["target", "toward"])
    if (names && typeof change[name] === "number") values[name] = names.label(change[name]);
  if (change.layers) values.where = where(change.layers, change.heads ?? "all", say);
  for (const [name, { shape }] of Object.entries(fields)) {
    if (shape === "pairs" && Array.isArray(change[name]))
      Object.assign(values, {
        query: change[name][0][0],
        key: change[name][0][1],
        count: change[name].length,
      });
  }
  if (names && values.count === 1)
    return t("cutEdge", {
      query: names.token(values.query),
      key: names.token(values.key),
      where: values.where,
    });
  return say("did_" + change.kind + (by && "_" + ending(by, change[by])), values);
}

/** Suffix of a sentence's key: the word that a field holds, or which fields are set. */
function ending(name, value) {
  if (typeof value === "string") return value.replaceAll(" ", "_");
  return name === "edges" && value.length === 1 ? "edge" : name;
}

/** @param {number[]|"all"} layers @param {number[]|"all"} heads */
function where(layers, heads, say) {
  const inLayers = layers === "all" ? say("in_all_layers") : say("in_layers", { layers: layers.join(", ") });
  return heads === "all" ? inLayers : say("in_heads", { where: inLayers, heads: heads.join(", ") });
}

function named(patches, say, names) {
  if (names && patches.length <= SQUARES) return patches.map(names.square).join("; ");
  if (names) return say("many_patches", { count: patches.length });
  if (patches.length === 1) return say("one_patch", { patch: patches[0] });
  if (patches.length <= LIMITS.named) return say("few_patches", { patches: patches.join(", ") });
  return say("many_patches", { count: patches.length });
}
