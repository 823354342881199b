/** Fairness: the plan and the result of a fair test of maps, as in vitviz/probe/explain/fairness.py. */

import { Chance } from "./chance.js";
import { rounded } from "./pixels.js";
import { quantile } from "./quantile.js";
import { removalOrder, shuffled } from "./removal.js";

const STEPS = 12;
const ORDERS = 20;
const BAND = [0.05, 0.95];

/**
 * The plan of a test. ways: orders of patches: one for each map, the most important patch first; the same
 * backwards; random ones; these backwards. counts: number of removed patches at each step, from 0.
 * @typedef {{names: string[], ways: number[][], counts: number[]}} Plan
 */

/**
 * Plan a test.
 * @param {Record<string, ArrayLike<number>>} maps  (P) each
 * @param {number[]} patches  the patches that are not removed
 * @param {boolean} readsPatches  whether the head pools patches, so that one has to stay
 * @returns {Plan}
 */
export function planOf(maps, patches, readsPatches) {
  const chance = new Chance(0, "orders");
  // `removalOrder` has used the first order of this seed already, for equal values.
  const drawn = Array.from({ length: 1 + ORDERS / 2 }, () => shuffled(chance, patches)).slice(1);
  const first = Object.values(maps).map((values) => removalOrder(values, patches));
  const backwards = (ways) => ways.map((way) => [...way].reverse());
  const most = patches.length - Number(readsPatches);
  const counts = new Set(Array.from({ length: STEPS + 1 }, (_, step) => rounded((step * most) / STEPS)));
  return {
    names: Object.keys(maps),
    ways: [...first, ...backwards(first), ...drawn, ...backwards(drawn)],
    counts: [...counts],
  };
}

/**
 * The patches that stay at a step, for each order; a single list at a step that leaves no patch.
 * @param {Plan} plan
 * @param {number} step
 */
export function keptAt({ ways, counts }, step) {
  const kept = ways.map((way) => way.slice(counts[step]).sort((a, b) => a - b));
  return kept[0].length > 0 ? kept : kept.slice(0, 1);
}

/** Area under a curve over the removed shares, in [0, 1]. */
function areaOf(curve, removed) {
  let sum = 0;
  for (let at = 1; at < curve.length; at++)
    sum += ((removed[at] - removed[at - 1]) * (curve[at] + curve[at - 1])) / 2;
  return sum / removed[removed.length - 1];
}

/**
 * The result of a test.
 * @param {Plan} plan
 * @param {ArrayLike<number>[]} columns  the probability of the class, or the likeness, at each step, for each order
 * @param {number|null} target  the class; null: a likeness
 */
export function removalOf({ names, ways, counts }, columns, target) {
  const removed = counts.map((count) => count / ways[0].length);
  const curves = ways.map((_, way) => columns.map((column) => column[column.length === 1 ? 0 : way]));
  const random = curves.slice(2 * names.length);
  const areas = random.map((curve) => areaOf(curve, removed));
  const gains = areas.map((area, at) => areas[(at + ORDERS / 2) % ORDERS] - area);
  const maps = Object.fromEntries(
    names.map((name, at) => {
      const [first, last] = [curves[at], curves[names.length + at]];
      const [deletion, insertion] = [areaOf(first, removed), areaOf(last, removed)];
      const gain = insertion - deletion;
      return [
        name,
        { first, last, deletion, insertion, gain, beaten: gains.filter((other) => other < gain).length },
      ];
    }),
  );
  const band = /** @type {[number[], number[]]} */ (
    BAND.map((share) =>
      columns.map((_, step) =>
        quantile(
          random.map((curve) => curve[step]),
          share,
        ),
      ),
    )
  );
  return { target, removed, band, orders: ORDERS, maps };
}

/**
 * A Gaussian at the centre of the picture, with a standard deviation of a quarter of each side. (P)
 * @param {{rows: number, cols: number}} grid
 */
export function centreMap({ rows, cols }) {
  const along = (at, count) => ((at + 0.5) / count - 0.5) ** 2;
  return Float32Array.from({ length: rows * cols }, (_, patch) =>
    Math.exp(-(along(Math.floor(patch / cols), rows) + along(patch % cols, cols)) / (2 * 0.25 ** 2)),
  );
}
