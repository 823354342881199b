/** Digits: the sheets of vitviz/train/digits as pixels. */

import { fileOf as pictureFile, thumbnailOf } from "./thumbnails.js";

const SIDE = 28;
const CLASSES = 10;

/**
 * Pixels (digits * 28 * 28) and labels (digits).
 * @typedef {{pixels: Uint8Array, labels: Uint8Array}} Digits
 */

/**
 * Every digit of a sheet, on which digits of one class lie one after the other, as many of each.
 * @param {{data: ArrayLike<number>, width: number, height: number}} sheet  data: four numbers a pixel
 * @param {boolean} [byTurns]  one of each class after the other, so that any first few are of all classes
 * @returns {Digits}
 */
export function digitsOf({ data, width, height }, byTurns = false) {
  const across = width / SIDE;
  const count = across * (height / SIDE);
  const pixels = new Uint8Array(count * SIDE * SIDE);
  const each = count / CLASSES;
  const places = Array.from({ length: count }, (_, at) =>
    byTurns ? (at % CLASSES) * each + Math.floor(at / CLASSES) : at,
  );
  const labels = Uint8Array.from(places, (place) => Math.floor(place / each));
  places.forEach((place, at) => {
    const [top, left] = [SIDE * Math.floor(place / across), SIDE * (place % across)];
    for (let y = 0; y < SIDE; y++) {
      for (let x = 0; x < SIDE; x++)
        pixels[(at * SIDE + y) * SIDE + x] = data[4 * ((top + y) * width + left + x)];
    }
  });
  return { pixels, labels };
}

/** Reads both sheets. @param {{train: ArrayBuffer, test: ArrayBuffer}} files  PNG */
export async function readDigits({ train, test }) {
  const [ours, others] = await Promise.all([train, test].map(pixelsOf));
  return {
    train: digitsOf(ours),
    test: digitsOf(others, true),
    classes: Array.from({ length: CLASSES }, (_, label) => String(label)),
  };
}

/** @param {ArrayBuffer} file */
async function pixelsOf(file) {
  const bitmap = await createImageBitmap(new Blob([file], { type: "image/png" }), {
    colorSpaceConversion: "none",
  });
  const { width, height } = bitmap;
  const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", {
    willReadFrequently: true,
  });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}

/** One digit, (28 * 28). @param {Digits} digits @param {number} at */
export const digitAt = ({ pixels }, at) => pixels.subarray(at * SIDE * SIDE, (at + 1) * SIDE * SIDE);

const IMAGE = { height: SIDE, width: SIDE, channels: 1 };

/** A digit as a PNG file. @param {Uint8Array} pixels @param {string} name */
export const fileOf = (pixels, name) => pictureFile(pixels, IMAGE, name);

/** @param {Uint8Array} pixels */
export const pictureOf = (pixels) => thumbnailOf(pixels, IMAGE);
