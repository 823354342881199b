/** Bias: a number added to the score of a query and a key, which depends on their relative position. */

import { expectTensor, toFloat32 } from "./safetensors.js";

/**
 * The bias of the score of a query and a key in a head.
 * @typedef {(head: number, query: number, key: number) => number} Bias
 */

/**
 * The bias of one layer, from the numbers in its file, which vitviz/probe/capture/bias.py describes.
 * @param {Record<string, import("./safetensors.js").Tensor>} tensors
 * @param {Pick<import("../types.js").Manifest, "model">} manifest
 * @returns {Bias|null}  null for a model without a bias
 */
export function biasOf(tensors, { model: { grid, num_heads: heads, num_tokens: tokens } }) {
  if (!tensors.bias) return null;
  const { rows, cols } = grid;
  const ways = (2 * rows - 1) * (2 * cols - 1) + 3;
  const table = toFloat32(expectTensor(tensors, "bias", [ways, heads]));
  const each = (name) =>
    tensors[name]
      ? toFloat32(expectTensor(tensors, name, [tokens]))
      : Float32Array.from({ length: tokens }, (_, at) => at);
  const [places, queries] = [each("bias_places"), each("bias_queries")];
  return (head, query, key) => {
    const row = queries[query];
    return row < 0 ? 0 : table[wayBetween(places[row], places[key], rows, cols) * heads + head];
  };
}

/** Row of the bias table for a query and a key: token 0 is CLS, the patches follow row by row. */
export function wayBetween(query, key, rows, cols) {
  const fromCls = (2 * rows - 1) * (2 * cols - 1);
  if (query === 0) return key === 0 ? fromCls + 2 : fromCls;
  if (key === 0) return fromCls + 1;
  const down = Math.floor((query - 1) / cols) - Math.floor((key - 1) / cols) + rows - 1;
  const right = ((query - 1) % cols) - ((key - 1) % cols) + cols - 1;
  return down * (2 * cols - 1) + right;
}
