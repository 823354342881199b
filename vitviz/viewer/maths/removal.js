/**
 * Removal: the orders in which a fair test takes patches out, as vitviz/probe/explain/fairness.py has them.
 */

import { Chance } from "./chance.js";

/**
 * Patches by a map, the most important first; equal ones as chance has them, with the seed of every test on
 * the page.
 * @param {ArrayLike<number>} values  of each patch
 * @param {number[]} patches  those that are there
 * @returns {number[]}
 */
export function removalOrder(values, patches) {
  const ties = [...new Chance(0, "orders").permutation(patches.length)].map((place) => patches[place]);
  return ties.sort((a, b) => values[b] - values[a]);
}

/**
 * The step of a test at which a quarter of the patches is gone, or what comes nearest.
 * @param {number[]} removed
 */
export function quarterOf(removed) {
  return removed.reduce(
    (best, share, at) => (Math.abs(share - 0.25) < Math.abs(removed[best] - 0.25) ? at : best),
    0,
  );
}

/**
 * The maps by how little is left of the answer in their order when a quarter is gone, the least first.
 * @template {{key: string}} One
 * @param {{removed: number[], maps: Record<string, {first: number[]}>}} result
 * @param {One[]} maps
 * @returns {One[]}
 */
export function byFall({ removed, maps: curves }, maps) {
  const at = quarterOf(removed);
  return [...maps].sort((a, b) => curves[a.key].first[at] - curves[b.key].first[at]);
}
