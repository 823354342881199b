/** Strokes: the patches that a brush touches on its way. */

/**
 * The patches under a brush between two points, in order of the way.
 * @param {{row: number, col: number}} from  in patches, with fractions: (0, 0) is the upper left corner
 * @param {{row: number, col: number}} to
 * @param {number} size  patches that the brush is wide: 1, 3, 5
 * @param {{rows: number, cols: number}} grid
 * @returns {number[]}  each once
 */
export function patchesBetween(from, to, size, { rows, cols }) {
  const steps = Math.max(1, Math.ceil(2 * Math.hypot(to.row - from.row, to.col - from.col)));
  const reach = (size - 1) / 2;
  const touched = new Set();
  for (let step = 0; step <= steps; step++) {
    const share = step / steps;
    const row = Math.floor(from.row + share * (to.row - from.row));
    const col = Math.floor(from.col + share * (to.col - from.col));
    for (let r = Math.max(0, row - reach); r <= Math.min(rows - 1, row + reach); r++) {
      for (let c = Math.max(0, col - reach); c <= Math.min(cols - 1, col + reach); c++) touched.add(r * cols + c);
    }
  }
  return [...touched];
}
