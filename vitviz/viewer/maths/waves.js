/** Waves: the fixed position embedding of sines and cosines, which is not learned. */

/**
 * Ratio of the longest wave to the shortest, from Vaswani et al. 2017, arXiv:1706.03762.
 */
const LONGEST = 10000;

/**
 * Cosine similarities of a position to all positions, by the formula in two dimensions (MoCo v3,
 * arXiv:2104.02057; MAE, arXiv:2111.06377; timm): the sum of cos(wave * distance) over all waves, for rows
 * and for columns. These sources order the numbers of the vectors differently, which does not change a
 * similarity.
 * @param {{rows: number, cols: number}} grid
 * @param {{row: number, col: number}} place
 * @param {number} dim  of the vectors; the formula needs a multiple of 4
 * @returns {Float64Array}  (rows * cols); empty for other dims
 */
export function waveSimilarity({ rows, cols }, place, dim) {
  if (dim % 4 !== 0) return new Float64Array(0);
  const count = dim / 4;
  const waves = Array.from({ length: count }, (_, at) => LONGEST ** (-at / count));
  const along = (distance) => waves.reduce((sum, wave) => sum + Math.cos(wave * distance), 0) / (2 * count);
  return Float64Array.from(
    { length: rows * cols },
    (_, at) => along(Math.floor(at / cols) - place.row) + along((at % cols) - place.col),
  );
}
