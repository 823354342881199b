/**
 * Draws: the initial weights of a training, drawn like torch, by the description of
 * vitviz/model/untrained.py.
 */

import { Twister } from "./twister.js";

/**
 * @typedef {{seed: number, shapes: Record<string, number[]>, same: Record<string, number>,
 *   steps:
 *     {skip?: number, name?: string, way?: "normal"|"uniform", by?: [number, number], factor?: number}[]}}
 *     Draws
 */

/**
 * All weights by name.
 * @param {Draws} draws
 * @returns {Record<string, {shape: number[], data: Float32Array}>}
 */
export function weightsOf({ seed, shapes, same, steps }) {
  const twister = new Twister(seed);
  const all = Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [
      name,
      { shape, data: new Float32Array(shape.reduce((product, side) => product * side, 1)) },
    ]),
  );
  for (const [name, value] of Object.entries(same)) all[name].data.fill(value);
  for (const { skip = 0, name, way, by, factor = 1 } of steps) {
    twister.skip(skip);
    if (!name || !way || !by) continue;
    const { length } = all[name].data;
    all[name].data = (
      way === "normal" ? twister.normals(length, by[1], by[0]) : twister.uniforms(length, ...by)
    ).map((number) => number * factor);
  }
  return all;
}
