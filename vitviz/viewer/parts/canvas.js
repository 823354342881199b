/** Small canvases: one pixel per patch, made large by CSS. */

import { greyTable, packColour, paint, shadeTable } from "../maths/colour.js";
import { boxOf } from "../maths/geometry.js";
import { el, show } from "./dom.js";

/**
 * A canvas of rows x cols pixels, on which values or colours are painted.
 * @param {number} rows
 * @param {number} cols
 * @param {string} className
 * @returns {{canvas: HTMLCanvasElement, clear: () => void,
 *   drawColours: (colours: ArrayLike<number>) => void,
 *   draw: (values: ArrayLike<number>, offset: number, scale: {min: number, max: number},
 *     table: Uint32Array) => void}}
 */
export function mapCanvas(rows, cols, className = "") {
  const canvas = el("canvas", { class: ("vv-map " + className).trim(), width: cols, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(cols, rows);
  const pixels = new Uint32Array(image.data.buffer);
  return {
    canvas,
    draw(values, offset, scale, table) {
      paint(values, offset, scale, table, pixels);
      context.putImageData(image, 0, 0);
    },
    /** Paints colours in [0, 1]: red, green, blue of each patch. */
    drawColours(colours) {
      for (let i = 0; i < pixels.length; i++) pixels[i] = packColour(colours, 3 * i);
      context.putImageData(image, 0, 0);
    },
    clear() {
      context.clearRect(0, 0, cols, rows);
    },
  };
}

/**
 * A canvas for a photo that comes later, in its own resolution.
 * @param {string} className
 * @returns {{canvas: HTMLCanvasElement, draw: (image: ImageBitmap|null) => void}}
 *   draw: draws it once; null hides the canvas
 */
export function photoCanvas(className) {
  const canvas = el("canvas", { class: className, hidden: true });
  let drawn = null;
  return {
    canvas,
    draw(image) {
      show(canvas, image !== null);
      if (!image || image === drawn) return;
      drawn = image;
      Object.assign(canvas, { width: image.width, height: image.height });
      canvas.getContext("2d").drawImage(image, 0, 0);
    },
  };
}

/**
 * A canvas for a picture's pixels as they are, which can come later.
 * @param {number} height
 * @param {number} width
 * @param {string} className
 * @returns {{canvas: HTMLCanvasElement, draw: (rgba: Uint8ClampedArray<ArrayBuffer>|undefined) => void}}
 *   draw: draws them once; undefined waits
 */
export function pixelCanvas(height, width, className) {
  const canvas = el("canvas", { class: className, width, height });
  let drawn = null;
  return {
    canvas,
    draw(rgba) {
      if (!rgba || drawn === rgba) return;
      drawn = rgba;
      canvas.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
    },
  };
}

/**
 * A canvas that shows a picture's pixels as they are.
 * @param {Uint8ClampedArray<ArrayBuffer>} rgba
 * @param {number} height
 * @param {number} width
 * @param {string} className
 * @returns {HTMLCanvasElement}
 */
export function pictureCanvas(rgba, height, width, className) {
  const { canvas, draw } = pixelCanvas(height, width, className);
  draw(rgba);
  return canvas;
}

/** Pixels of a cut-out square on its longer side. */
const CUT = 48;

/**
 * A canvas that shows one patch of a picture.
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {{canvas: HTMLCanvasElement,
 *   draw: (picture: HTMLCanvasElement|ImageBitmap, token: number) => void}}
 *   draw: the picture may have any resolution
 */
export function patchCanvas(grid) {
  const unit = CUT / Math.max(grid.patchWidth, grid.patchHeight);
  const [width, height] = [grid.patchWidth * unit, grid.patchHeight * unit].map(Math.round);
  const canvas = el("canvas", { class: "vv-cut-out", width, height });
  const context = canvas.getContext("2d");
  return {
    canvas,
    draw(picture, token) {
      const box = boxOf(token, grid);
      if (!box) return;
      const [across, down] = [picture.width / grid.width, picture.height / grid.height];
      const { left, top } = box;
      context.drawImage(
        picture,
        left * across,
        top * down,
        grid.patchWidth * across,
        grid.patchHeight * down,
        0,
        0,
        width,
        height,
      );
    },
  };
}

/**
 * The light of a spotlight, to lie over a picture: grey and dark where values are low, as it is where they
 * are high.
 * @param {number} rows
 * @param {number} cols
 */
export function lightCanvas(rows, cols) {
  const [grey, shade] = ["vv-grey", "vv-shade"].map((kind) => mapCanvas(rows, cols, kind));
  return {
    nodes: [grey.canvas, shade.canvas],
    /** @param {ArrayLike<number>} values @param {number} offset @param {{min: number, max: number}} scale */
    draw(values, offset, scale) {
      grey.draw(values, offset, scale, greyTable());
      shade.draw(values, offset, scale, shadeTable());
    },
    clear() {
      grey.clear();
      shade.clear();
    },
  };
}
