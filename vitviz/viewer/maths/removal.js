/**
 * Removal: the orders in which a fair test removes patches, as in vitviz/probe/explain/fairness.py.
 */

import { Chance } from "./chance.js";

/**
 * Patches in an order that chance draws.
 * @param {Chance} chance
 * @param {number[]} patches
 */
export const shuffled = (chance, patches) =>
  [...chance.permutation(patches.length)].map((place) => patches[place]);

/**
 * Patches in the order of a map, the most important first; equal values in a random order, with the seed that
 * all tests of the page share.
 * @param {ArrayLike<number>} values  of each patch
 * @param {number[]} patches  the patches that are not removed
 * @returns {number[]}
 */
export function removalOrder(values, patches) {
  return shuffled(new Chance(0, "orders"), patches).sort((a, b) => values[b] - values[a]);
}

/**
 * The step of a test at which about a quarter of the patches is removed.
 * @param {number[]} removed  share at each step
 */
export function quarterOf(removed) {
  return removed.reduce(
    (best, share, at) => (Math.abs(share - 0.25) < Math.abs(removed[best] - 0.25) ? at : best),
    0,
  );
}

/**
 * Maps sorted by their gain (area under the curve of the least important first, minus that of the most
 * important first), largest first.
 * @template {{key: string}} One
 * @param {{maps: Record<string, {gain: number}>}} result
 * @param {One[]} maps
 * @returns {One[]}
 */
export function byGain({ maps: curves }, maps) {
  return [...maps].sort((a, b) => curves[b.key].gain - curves[a.key].gain);
}
