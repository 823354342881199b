/** Where the dots of a chart are, which one is meant, and round numbers for its axis. */

/**
 * Mean distance between two patches of the grid, in pixels: that of a head that looks everywhere
 * alike.
 * @param {import("./geometry.js").Grid} grid
 * @returns {number}
 */
export function evenDistance({ rows, cols, patchHeight, patchWidth }) {
  let sum = 0;
  for (let down = 0; down < rows; down++) {
    for (let right = 0; right < cols; right++) {
      // So many pairs of patches are this far apart, in this and in the mirrored directions.
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
  let best = null;
  let least = reach;
  for (const dot of dots) {
    const away = Math.hypot(dot.x - x, dot.y - y);
    if (away > least) continue;
    best = dot;
    least = away;
  }
  return best;
}

/**
 * Round numbers from 0 to at most `top`, three to six of them.
 * @param {number} top  above 0
 * @returns {number[]}
 */
export function ticks(top) {
  const rough = top / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * unit).find((size) => size >= rough);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}
