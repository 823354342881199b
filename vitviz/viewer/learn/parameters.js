/**
 * Parameters: layout of a model's learned numbers in the memory of the kernels. Parameters with weight decay
 * come first. Each matrix has its rows as in torch, padded with zeros to their stride; the padding stays
 * zero, since its gradients are.
 */

import { up } from "../engine/machine.js";
import { shapesOf } from "../engine/weights.js";
import { Twister } from "../maths/twister.js";

/**
 * Place of a parameter: its index `at` among all numbers, and its `rows` of `into` numbers with a stride.
 * @typedef {{name: string, shape: number[], at: number, rows: number, into: number, stride: number}}
 *   Parameter
 * @typedef {{all: Record<string, Parameter>, decayed: number, size: number, count: number}} Layout
 *   decayed: the first so many numbers have weight decay; size: count of all numbers with padding; count:
 *   without
 * @typedef {import("../engine/config.js").Config} Config
 */

const product = (sides) => sides.reduce((all, side) => all * side, 1);

/** Whether a parameter has weight decay, as in vitviz/train/optim.py: matrices of linear layers. */
const decays = ({ name, shape }) => name.endsWith(".weight") && shape.length > 1;

/** The layout of a model's parameters. @param {Config} config @returns {Layout} */
export function layoutOf(config) {
  const all = Object.entries(shapesOf(config))
    .map(([name, shape]) => {
      const isMatrix = decays({ name, shape });
      const rows = isMatrix ? shape[0] : shape.length === 3 ? shape[1] : 1;
      const into = product(shape) / rows;
      return { name, shape, at: 0, rows, into, stride: isMatrix || rows === 1 ? up(into) : into };
    })
    .sort((a, b) => Number(decays(b)) - Number(decays(a)));
  let [size, decayed] = [0, 0];
  for (const parameter of all) {
    parameter.at = size;
    size += up(decays(parameter) ? up(parameter.rows) * parameter.stride : parameter.rows * parameter.stride);
    if (decays(parameter)) decayed = size;
  }
  return {
    all: Object.fromEntries(all.map((parameter) => [parameter.name, parameter])),
    decayed,
    size,
    count: all.reduce((sum, { shape }) => sum + product(shape), 0),
  };
}

/**
 * Write the numbers of a parameter into `f`, which begins with the first parameter.
 * @param {Float32Array} f
 * @param {Parameter} parameter
 * @param {ArrayLike<number>} numbers
 */
export function write(f, { at, rows, into, stride }, numbers) {
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < into; i++) f[at + row * stride + i] = numbers[row * into + i];
}

/**
 * The numbers of a parameter, without padding.
 * @param {Float32Array} f
 * @param {Parameter} parameter
 */
export function read(f, { at, rows, into, stride }) {
  const numbers = new Float32Array(rows * into);
  for (let row = 0; row < rows; row++)
    numbers.set(f.subarray(at + row * stride, at + row * stride + into), row * into);
  return numbers;
}

/**
 * The numbers that `begin` of vitviz/model/untrained.py draws for a model whose head begins at zero. wide, as in the
 * recipe of the playground: matrices have a deviation of 1 / sqrt(inputs), learned tokens of 0.5; else both have
 * 0.02.
 * @param {Config} config @param {number} seed @param {boolean} [wide] @returns {Record<string, Float32Array>}
 */
export function drawn(config, seed, wide = true) {
  const shapes = shapesOf(config);
  const chance = new Twister(seed);
  const matrices = Object.keys(shapes).filter((name) => decays({ name, shape: shapes[name] }));
  const size = (name) => product(shapes[name] ?? [0]);
  // torch draws each new layer before the model draws it again
  for (const name of matrices) chance.skip(size(name) + size(name.replace(".weight", ".bias")));
  /** @type {Record<string, Float32Array>} */
  const made = {};
  for (const [name, shape] of Object.entries(shapes)) {
    if (shape.length === 1)
      made[name] = new Float32Array(shape[0]).fill(/norm\d?\.weight$/.test(name) ? 1 : 0);
  }
  for (const name of matrices) {
    const into = size(name) / shapes[name][0];
    const factor = wide ? Math.fround(into ** -0.5 / 0.02) : 1;
    made[name] = chance
      .normals(size(name), 0.02)
      .map((number) => (name === "head.weight" ? 0 : number * factor));
  }
  const [out, ...rest] = shapes["patch_embed.proj.weight"];
  const bound = Math.sqrt(6 / (out + product(rest)));
  made["patch_embed.proj.weight"] = chance.uniforms(out * product(rest), -bound, bound);
  for (const name of ["cls_token", "reg_token", "pos_embed"])
    if (shapes[name]) made[name] = chance.normals(size(name), 0.02).map((number) => number * (wide ? 25 : 1));
  return made;
}
