/** A mosaic: many small maps on one canvas, one pixel apart, one of them marked. */

import { paint } from "../maths/colour.js";
import { el, show } from "./dom.js";

/**
 * @param {{outerRows: number, outerCols: number, rows: number, cols: number,
 *   ratio: number, label: string}} size  ratio: width by height of one map
 * @returns {{frame: HTMLElement,
 *   draw: (outerRow: number, outerCol: number, values: ArrayLike<number>, offset: number,
 *     scale: {min: number, max: number}, table: Uint32Array) => void,
 *   place: (outerRow: number, outerCol: number, values: ArrayLike<number>, offset: number,
 *     scale: {min: number, max: number}, table: Uint32Array) => void, flush: () => void,
 *   clear: () => void, mark: (place: {row: number, col: number}|null) => void,
 *   cellAt: (event: MouseEvent) => {row: number, col: number}|null}}
 *   draw: draws one map at once; place: adds one of many, which flush draws together
 */
export function createMosaic({ outerRows, outerCols, rows, cols, ratio, label }) {
  const high = outerRows * (rows + 1) - 1;
  const wide = outerCols * (cols + 1) - 1;
  const canvas = el("canvas", {
    class: "vv-map",
    width: wide,
    height: high,
    role: "img",
    "aria-label": label,
  });
  canvas.style.aspectRatio = String(((wide / cols) * ratio) / (high / rows));
  // A canvas with more pixels than its place on the screen is averaged, and no patch is left out.
  canvas.classList.toggle("vv-fine", wide > 700);
  const context = canvas.getContext("2d");
  const tile = context.createImageData(cols, rows);
  const pixels = new Uint32Array(tile.data.buffer);
  let whole = null; // all pixels of the canvas, once `place` was called
  let wholePixels = null;
  const marker = el("span", { class: "vv-box vv-selected", hidden: true });
  const frame = el("div", { class: "vv-map-frame" }, canvas, marker);
  return {
    frame,
    draw(outerRow, outerCol, values, offset, scale, table) {
      paint(values, offset, scale, table, pixels);
      context.putImageData(tile, outerCol * (cols + 1), outerRow * (rows + 1));
    },
    place(outerRow, outerCol, values, offset, scale, table) {
      if (!whole) {
        whole = context.createImageData(wide, high);
        wholePixels = new Uint32Array(whole.data.buffer);
      }
      paint(values, offset, scale, table, pixels);
      const corner = outerRow * (rows + 1) * wide + outerCol * (cols + 1);
      for (let row = 0, from = 0, to = corner; row < rows; row++, to += wide) {
        for (let col = 0; col < cols; col++, from++) wholePixels[to + col] = pixels[from];
      }
    },
    flush() {
      if (whole) context.putImageData(whole, 0, 0);
    },
    clear() {
      wholePixels?.fill(0);
      context.clearRect(0, 0, wide, high);
    },
    mark(place) {
      show(marker, place !== null);
      if (!place) return;
      Object.assign(marker.style, {
        left: (100 * place.col * (cols + 1)) / wide + "%",
        top: (100 * place.row * (rows + 1)) / high + "%",
        width: (100 * cols) / wide + "%",
        height: (100 * rows) / high + "%",
      });
    },
    cellAt(event) {
      const box = canvas.getBoundingClientRect();
      const col = Math.floor((((event.clientX - box.left) / box.width) * (wide + 1)) / (cols + 1));
      const row = Math.floor((((event.clientY - box.top) / box.height) * (high + 1)) / (rows + 1));
      return row >= 0 && row < outerRows && col >= 0 && col < outerCols ? { row, col } : null;
    },
  };
}

/** A mosaic of one map for each patch. @param {{rows: number, cols: number}} grid @param {number} ratio */
export const createPatchMosaic = ({ rows, cols }, ratio, label) =>
  createMosaic({ outerRows: rows, outerCols: cols, rows, cols, ratio, label });
