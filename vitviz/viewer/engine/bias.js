/** Bias: the learned numbers that a model adds to its scores, as RelativeBias of vitviz/model/positions.py. */

import { wayBetween } from "../maths/bias.js";

/**
 * Rows of the bias table of a layer in a pass, for rows of the sequence; -1: nothing is added to the score.
 * @param {import("./machine.js").Machine} m
 * @param {number} layer
 * @param {import("./surgery.js").Surgery} surgery
 * @returns {((query: number, key: number) => number)|null}  null: the pass has no bias
 */
export function waysOf({ config: { rows, cols }, blocks }, layer, surgery) {
  if (!blocks[layer].bias || surgery.without("bias off")) return null;
  const [places, queries] = [surgery.angled ?? surgery.sequence, surgery.queries(layer)];
  return (query, key) => {
    const row = queries ? queries[query] : query;
    return row < 0 ? -1 : wayBetween(places[row], places[key], rows, cols);
  };
}

/**
 * The bias of a layer as the tensors of its file, which `biasOf` of maths/bias.js reads; {} without one.
 * @param {import("./machine.js").Machine} m
 * @param {number} layer
 * @param {import("./surgery.js").Surgery} surgery  of a whole sequence
 * @returns {Record<string, import("../maths/safetensors.js").Tensor>}
 */
export function biasTensors({ config: { depth, num_heads }, blocks }, layer, surgery) {
  const { bias } = blocks[layer];
  if (!bias || surgery.without("bias off")) return {};
  const tensor = (numbers, ...shape) => ({ dtype: "F32", shape, data: Float32Array.from(numbers) });
  const { places, sequence } = surgery;
  const edits = Array.from({ length: depth }, (_, other) => surgery.queries(other));
  return {
    bias: tensor(bias.table, bias.table.length / num_heads, num_heads),
    ...(places ? { bias_places: tensor(places, places.length) } : {}),
    ...(edits.some(Boolean) ? { bias_queries: tensor(edits[layer] ?? sequence, sequence.length) } : {}),
  };
}
