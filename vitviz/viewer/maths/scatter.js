/** Scatter plots: the dot under a pointer, and the ticks of an axis. */

/**
 * Mean distance between two patches of the grid, in pixels: the mean attention distance of uniform
 * attention.
 * @param {import("./geometry.js").Grid} grid
 * @returns {number}
 */
export function evenDistance({ rows, cols, patchHeight, patchWidth }) {
  let sum = 0;
  for (let down = 0; down < rows; down++) {
    for (let right = 0; right < cols; right++) {
      // The number of pairs of patches with this offset, and with the mirrored ones.
      const pairs = (rows - down) * (cols - right) * (down > 0 ? 2 : 1) * (right > 0 ? 2 : 1);
      sum += pairs * Math.hypot(down * patchHeight, right * patchWidth);
    }
  }
  return sum / (rows * cols) ** 2;
}

/**
 * The dot nearest to a point, null if none is within reach.
 * @template {{x: number, y: number, layer?: number, head?: number}} Dot
 * @param {Dot[]} dots
 * @param {number} x
 * @param {number} y
 * @param {number} reach
 * @returns {Dot|null}
 */
export function nearestDot(dots, x, y, reach) {
  /** @type {Dot|null} */
  let best = null;
  let least = reach;
  for (const dot of dots) {
    const away = Math.hypot(dot.x - x, dot.y - y);
    if (away > least || (best && away === least)) continue; // the first of equally near dots
    best = dot;
    least = away;
  }
  return best;
}

/**
 * The dot nearest to a point, and the pile of dots that overlap it (itself too), in the order of `dots`, so
 * that clicks can cycle through them. nearest is null and pile empty if no dot is within reach.
 * @template {{x: number, y: number, layer?: number, head?: number}} Dot
 * @param {Dot[]} dots
 * @param {number} x
 * @param {number} y
 * @param {number} reach
 * @param {number} overlap  largest distance of dots that overlap
 * @returns {{nearest: Dot|null, pile: Dot[]}}
 */
export function pileAt(dots, x, y, reach, overlap) {
  const nearest = nearestDot(dots, x, y, reach);
  const pile = nearest
    ? dots.filter((dot) => Math.hypot(dot.x - nearest.x, dot.y - nearest.y) <= overlap)
    : [];
  return { nearest, pile };
}

/**
 * The dot of a pile to describe: the selected head if the pile has it, else the nearest dot.
 * @template {{layer: number, head: number}} Dot
 * @param {{nearest: Dot|null, pile: Dot[]}} found
 * @param {{layer: number, head: number|"mean"}} chosen
 * @returns {Dot|null}
 */
export function dotInView({ nearest, pile }, { layer, head }) {
  return pile.find((dot) => dot.layer === layer && dot.head === head) ?? nearest;
}

/**
 * The dot that a click selects: the nearest, or the next after the selected head if the pile has it.
 * @template {{layer: number, head: number}} Dot
 * @param {{nearest: Dot|null, pile: Dot[]}} found
 * @param {{layer: number, head: number|"mean"}} chosen
 * @returns {Dot|null}
 */
export function dotOfClick({ nearest, pile }, { layer, head }) {
  const at = pile.findIndex((dot) => dot.layer === layer && dot.head === head);
  return at < 0 ? nearest : pile[(at + 1) % pile.length];
}

/**
 * The heads of a pile, layer by layer: [[3, [1, 4, 5]], [4, [0]]].
 * @param {{layer: number, head: number}[]} pile
 * @returns {[number, number[]][]}
 */
export function headsByLayer(pile) {
  const layers = new Map();
  for (const { layer, head } of pile) layers.set(layer, [...(layers.get(layer) ?? []), head]);
  return [...layers];
}

/**
 * The top of an axis that begins at 0 and has room for all values; above 0 also if all are 0.
 * @param {number[]} values
 * @returns {number}
 */
export function topOf(values) {
  return Math.max(...values) * 1.04 || 1;
}

/**
 * Round numbers from 0 to at most `top`, three to six of them.
 * @param {number} top  above 0
 * @returns {number[]}
 */
export function ticks(top) {
  const rough = top / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * unit).find((size) => size >= rough) ?? top;
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, at) =>
    Number((at * step).toPrecision(6)),
  );
}
