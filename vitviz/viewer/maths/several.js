/**
 * Several: means over pictures and their standard errors, as in vitviz/many/survey.py, and the overlap of
 * maps.
 */

import { overlap } from "./attention.js";

/**
 * The mean of rows, and its standard error: deviation / sqrt(n), NaN for one row.
 * @param {ArrayLike<number>[]} rows  n of one length, at least one
 * @returns {{mean: number[], error: number[]}}
 */
export function meanAndError(rows) {
  const count = rows.length;
  const mean = Array.from(rows[0], (_, at) => rows.reduce((sum, row) => sum + row[at], 0) / count);
  const error = mean.map((middle, at) =>
    count < 2
      ? NaN
      : Math.sqrt(rows.reduce((sum, row) => sum + (row[at] - middle) ** 2, 0) / (count - 1) / count),
  );
  return { mean, error };
}

/**
 * The `overlap` of each map with the mean of the others, from 0 to 1; NaN for a single map.
 * @param {ArrayLike<number>[]} maps  each sums to 1
 * @returns {number[]}
 */
export function commonWithOthers(maps) {
  const sum =
    maps.length > 0 ? Array.from(maps[0], (_, at) => maps.reduce((total, map) => total + map[at], 0)) : [];
  return maps.map((map) =>
    maps.length < 2
      ? NaN
      : overlap(
          map,
          sum.map((total, at) => Math.max(0, total - map[at])),
        ),
  );
}

/**
 * share: the part of a map in the patches whose centre is in the middle half of both sides; even: that of an
 * even map.
 * @param {ArrayLike<number>} map  (rows * cols), sums to 1
 * @param {{rows: number, cols: number}} grid
 * @returns {{share: number, even: number}}
 */
export function inTheMiddle(map, { rows, cols }) {
  const within = (at, count) => Math.abs((at + 0.5) / count - 0.5) < 0.25;
  let [share, patches] = [0, 0];
  for (let at = 0; at < rows * cols; at++) {
    if (!within(Math.floor(at / cols), rows) || !within(at % cols, cols)) continue;
    share += map[at];
    patches += 1;
  }
  return { share, even: patches / (rows * cols) };
}
