/**
 * Positions inside attention: the effect of rotary positions or a relative bias on a score, by the offset
 * between two patches.
 */

import { expectTensor, parseSafetensors, toFloat32 } from "./safetensors.js";

/** The least end of the scale. */
const LEAST = 1e-6;

/**
 * values: (layers, heads, 2 rows - 1, 2 cols - 1), by the offset from key to query; a single layer or head
 * stands for all. most: the largest absolute value. turns: (layers, 3, heads, d / 2) for rotary positions,
 * else empty: the angle of the upper left patch, and its increase per row and per column.
 * @typedef {{kind: "rotary"|"bias", layers: number, heads: number, values: Float32Array, most: number,
 *   turns: Float32Array}} Inside
 */

/**
 * @param {ArrayBuffer} buffer
 * @param {import("../types.js").Manifest} manifest
 * @returns {Inside}
 */
export function readInside(buffer, { model: { grid, depth, num_heads: all, head_dim: dim } }) {
  const tensors = parseSafetensors(buffer);
  const kind = tensors.rotary ? "rotary" : "bias";
  const [layers, heads] = tensors[kind]?.shape[0] === 1 ? [1, tensors[kind].shape[1]] : [depth, all];
  const values = toFloat32(
    expectTensor(tensors, kind, [layers, heads, 2 * grid.rows - 1, 2 * grid.cols - 1]),
  );
  const turns =
    kind === "rotary"
      ? toFloat32(expectTensor(tensors, "turns", [layers, 3, heads, dim / 2]))
      : new Float32Array(0);
  return {
    kind,
    layers,
    heads,
    values,
    turns,
    // a bias that was not trained yet is 0 everywhere, which is the middle of a scale
    most: values.reduce((most, value) => Math.max(most, Math.abs(value)), LEAST),
  };
}

/**
 * Effect of positions on the score of a query patch with each patch as the key. (rows * cols)
 * @param {Inside} inside
 * @param {number} layer
 * @param {number} head
 * @param {{row: number, col: number}} place  of the query
 * @param {import("./geometry.js").Grid} grid
 */
export function insideMap({ layers, heads, values }, layer, head, { row, col }, { rows, cols }) {
  const wide = 2 * cols - 1;
  const from = ((layers === 1 ? 0 : layer) * heads + head) * (2 * rows - 1) * wide;
  return Float32Array.from(
    { length: rows * cols },
    (_, at) => values[from + (rows - 1 + row - Math.floor(at / cols)) * wide + cols - 1 + col - (at % cols)],
  );
}

/** `insideMap`, averaged over the heads. (rows * cols) */
export function insideMeans(inside, layer, place, grid) {
  const maps = Array.from({ length: inside.heads }, (_, head) => insideMap(inside, layer, head, place, grid));
  return maps[0].map((_, at) => maps.reduce((sum, map) => sum + map[at], 0) / maps.length);
}
