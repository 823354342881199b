/** Marginals: the means of the rows and of the columns of a map. */

/**
 * @param {ArrayLike<number>} map  (rows * cols)
 * @param {number} rows
 * @param {number} cols
 * @returns {{ofRows: Float64Array, ofCols: Float64Array}}  mean of each row (rows), column (cols)
 */
export function marginals(map, rows, cols) {
  const ofRows = new Float64Array(rows);
  const ofCols = new Float64Array(cols);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++, at++) {
      ofRows[row] += map[at] / cols;
      ofCols[col] += map[at] / rows;
    }
  }
  return { ofRows, ofCols };
}

/**
 * The mean of a map over the row and the column of a place, without the place itself, and over all others.
 * @param {ArrayLike<number>} map  (rows * cols)
 * @param {number} rows
 * @param {number} cols
 * @param {{row: number, col: number}} place
 */
export function linesOf(map, rows, cols, { row, col }) {
  let [same, rest] = [0, 0];
  for (let at = 0; at < rows * cols; at++) {
    const [ofRow, ofCol] = [Math.floor(at / cols) === row, at % cols === col];
    if (ofRow && ofCol) continue;
    if (ofRow || ofCol) same += map[at] / (rows + cols - 2);
    else rest += map[at] / ((rows - 1) * (cols - 1));
  }
  return { same, rest };
}

/**
 * The points of a line through values, for an SVG of width x height.
 * @param {ArrayLike<number>} values  at least one
 * @param {{min: number, max: number}} scale
 * @param {number} width
 * @param {number} height
 * @returns {string}
 */
export function linePoints(values, { min, max }, width, height) {
  return Array.from(values, (value, at) => {
    const x = ((at + 0.5) / values.length) * width;
    const y = (1 - (value - min) / (max - min)) * height;
    return x.toFixed(2) + "," + y.toFixed(2);
  }).join(" ");
}
