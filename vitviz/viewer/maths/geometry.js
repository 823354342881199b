/**
 * Geometry: converts between pixels of the picture, patches of the grid, strokes over it, and token indices.
 */

/**
 * @typedef {{rows: number, cols: number, patchHeight: number, patchWidth: number,
 *   prefix: number, tokens: number, height: number, width: number}} Grid
 */

/**
 * The grid that a manifest describes.
 * @param {Pick<import("../types.js").Manifest, "model">} manifest
 * @returns {Grid}
 */
export function gridOf(manifest) {
  const { rows, cols, patch_height: patchHeight, patch_width: patchWidth } = manifest.model.grid;
  const prefix = manifest.model.prefix_tokens.length;
  const { height, width } = manifest.model.image;
  const { num_tokens: tokens } = manifest.model;
  if (prefix + rows * cols !== tokens) {
    throw new Error(`${prefix} prefix tokens and ${rows} x ${cols} patches are not ${tokens} tokens`);
  }
  return { rows, cols, patchHeight, patchWidth, prefix, tokens, height, width };
}

/**
 * The token under a point of the drawn picture, null outside of the patches.
 * @param {number} x  from the left edge, in the units of `drawn`
 * @param {number} y  from the top edge
 * @param {{width: number, height: number}} drawn  size at which the whole picture is drawn
 * @param {Grid} grid
 * @returns {number|null}
 */
export function tokenAt(x, y, drawn, grid) {
  const col = Math.floor((x / drawn.width) * (grid.width / grid.patchWidth));
  const row = Math.floor((y / drawn.height) * (grid.height / grid.patchHeight));
  if (!(row >= 0 && row < grid.rows && col >= 0 && col < grid.cols)) return null;
  return tokenOf(row, col, grid);
}

/** @returns {number} the token of the patch in this row and column */
export function tokenOf(row, col, grid) {
  return grid.prefix + row * grid.cols + col;
}

/**
 * Row and column of a token, null for a prefix token.
 * @returns {{row: number, col: number}|null}
 */
export function placeOf(token, grid) {
  if (token < grid.prefix) return null;
  const patch = token - grid.prefix;
  return { row: Math.floor(patch / grid.cols), col: patch % grid.cols };
}

/**
 * The pixels of a token in the picture, null for a prefix token.
 * @returns {{top: number, left: number, height: number, width: number}|null}
 */
export function boxOf(token, grid) {
  const place = placeOf(token, grid);
  if (!place) return null;
  return {
    top: place.row * grid.patchHeight,
    left: place.col * grid.patchWidth,
    height: grid.patchHeight,
    width: grid.patchWidth,
  };
}

/**
 * The same box as shares of the picture's height and width, for CSS.
 * @returns {{top: string, left: string, height: string, width: string}|null}
 */
export function percentBox(token, grid) {
  const box = boxOf(token, grid);
  if (!box) return null;
  const percent = (part, whole) => (100 * part) / whole + "%";
  return {
    top: percent(box.top, grid.height),
    left: percent(box.left, grid.width),
    height: percent(box.height, grid.height),
    width: percent(box.width, grid.width),
  };
}

/**
 * Aspect ratio (width by height) of a map of all patches over the picture.
 * @param {{rows: number, cols: number, patchHeight: number, patchWidth: number}} grid
 * @returns {number}
 */
export function mapRatio({ rows, cols, patchHeight, patchWidth }) {
  return (cols * patchWidth) / (rows * patchHeight);
}

/** The token that is selected at the start: the first prefix token, else the patch in the middle. */
export function startToken(grid) {
  return grid.prefix > 0 ? 0 : middleToken(grid);
}

/** @returns {number} the patch in the middle of the picture */
export function middleToken(grid) {
  return tokenOf(Math.floor(grid.rows / 2), Math.floor(grid.cols / 2), grid);
}

/**
 * The patch of another grid that covers the middle of a patch.
 * @param {{row: number, col: number}} place
 * @param {{rows: number, cols: number}} from
 * @param {{rows: number, cols: number}} to
 * @returns {{row: number, col: number}}
 */
export function samePlace({ row, col }, from, to) {
  return {
    row: Math.floor(((row + 0.5) / from.rows) * to.rows),
    col: Math.floor(((col + 0.5) / from.cols) * to.cols),
  };
}

/**
 * The token one step away. Prefix tokens come before the patches: up and left lead to them from the
 * first row and column, down and right lead back.
 * @param {number} token
 * @param {"ArrowUp"|"ArrowDown"|"ArrowLeft"|"ArrowRight"} key
 * @param {Grid} grid
 * @returns {number}
 */
export function neighbour(token, key, grid) {
  const place = placeOf(token, grid);
  const back = key === "ArrowUp" || key === "ArrowLeft";
  if (!place) return Math.max(0, Math.min(grid.tokens - 1, token + (back ? -1 : 1)));
  const row = place.row + Number(key === "ArrowDown") - Number(key === "ArrowUp");
  const col = place.col + Number(key === "ArrowRight") - Number(key === "ArrowLeft");
  if (row < 0 || col < 0) return grid.prefix > 0 ? grid.prefix - 1 : token;
  if (row >= grid.rows || col >= grid.cols) return token;
  return tokenOf(row, col, grid);
}

/**
 * The patches under a brush that moves between two points, in the order of its path.
 * @param {{row: number, col: number}} from  in patches, with fractions: (0, 0) is the upper left corner
 * @param {{row: number, col: number}} to
 * @param {number} size  width of the brush in patches: 1, 3, 5
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
      for (let c = Math.max(0, col - reach); c <= Math.min(cols - 1, col + reach); c++)
        touched.add(r * cols + c);
    }
  }
  return [...touched];
}
