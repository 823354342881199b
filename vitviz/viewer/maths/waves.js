/** Waves: the fixed position embedding of sines and cosines, which a model is given and does not learn. */

/**
 * The longest wave is this much longer than the shortest: of Vaswani et al. 2017, arXiv:1706.03762, and all
 * that follow.
 */
const LONGEST = 10000;

/**
 * The cosine similarities of a position to all, as the formula in two dimensions has them (MoCo v3,
 * arXiv:2104.02057; MAE, arXiv:2111.06377; timm). The order of its numbers, and whether rows or columns come
 * first, differ between these and do not matter to a similarity: the sum of cos(wave * distance) over all
 * waves, of the rows and of the columns.
 * @param {{rows: number, cols: number}} grid
 * @param {{row: number, col: number}} place
 * @param {number} dim  of the vectors; without four parts there is no such formula
 * @returns {Float64Array}  (rows * cols); none where the formula does not fit
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
