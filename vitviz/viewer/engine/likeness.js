/** Likeness: the score of explanations whose target is a vector, as in vitviz/probe/explain/likeness.py. */

import { dot } from "../maths/attention.js";

/**
 * A machine whose `head` gives the vector to compare: the pooled features, because its class head is removed.
 * The distillation token is left out of them, since only its own head reads it. A model whose outputs have no
 * class names, such as CLIP, is returned as it is: the outputs are the vector.
 * @param {import("./machine.js").Machine} m
 * @param {string[]|null} labels  of its classes
 * @returns {import("./machine.js").Machine}
 */
export function featured(m, labels) {
  const { config } = m;
  if (!labels && config.num_classes > 0 && !config.dist_token) return m;
  return { ...m, heads: [], config: { ...config, num_classes: 0, dist_token: false } };
}

const lengthOf = (x) => Math.sqrt(dot(x, 0, x, 0, x.length));

/** The cosine of two vectors, from -1 to 1. @param {Float32Array} x @param {Float32Array} vector */
export const cosineOf = (x, vector) => dot(x, 0, vector, 0, x.length) / (lengthOf(x) * lengthOf(vector) || 1);

/** The gradient of `cosineOf` at its first vector. @param {Float32Array} x @param {Float32Array} vector */
export function cosineBack(x, vector) {
  const [own, other, cosine] = [lengthOf(x) || 1, lengthOf(vector) || 1, cosineOf(x, vector)];
  return x.map((number, i) => (vector[i] / other - (cosine * number) / own) / own);
}
