/** Small canvases: one pixel per patch, made large by CSS. */

import { packColour, paint } from "../maths/colour.js";
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
