/**
 * Pixels: preprocessing of a photo, byte for byte as in vitviz/model/preprocess.py and photo.py.
 */

import { resized } from "./resampling.js";

/**
 * Preprocessing of a model, from its checkpoint; see `Preprocess` in Python. uncut: the size before `cutTo`.
 * @typedef {{size: [number, number], channels: number, mean: number[], std: number[], crop_pct: number,
 *   crop_mode: "center"|"squash"|"border", crop_floor?: boolean, interpolation: string,
 *   uncut?: [number, number]}} Preprocess
 * @typedef {import("./resampling.js").Picture} Picture
 */

/** Most pixels of a photo that is resized whole; of a larger one only the part inside the crop is computed. */
const MOST_RESIZED = 2 ** 25;

/** Round to the nearest whole number, halves to the even one. @param {number} value */
export function rounded(value) {
  const down = Math.floor(value);
  return value - down === 0.5 ? down + (down % 2) : Math.round(value);
}

/**
 * Whether a picture has a pixel that is not opaque.
 * @param {Uint8Array|Uint8ClampedArray} rgba
 */
export function isTranslucent(rgba) {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] < 255) return true;
  return false;
}

/**
 * A picture in the model's channels, 1 (grey) or 3 (red, green, blue); transparent pixels are laid over
 * white.
 * @param {{data: Uint8Array|Uint8ClampedArray, width: number, height: number}} photo  red, green, blue, alpha
 * @param {number} channels
 * @param {Uint8Array} [table]  what each level becomes: see `tableOf`
 * @returns {Picture}
 */
export function inChannels({ data: rgba, width, height }, channels, table = AS_IT_IS) {
  const data = new Uint8ClampedArray(width * height * channels);
  for (let at = 0, to = 0; at < rgba.length; at += 4, to += channels) {
    let [red, green, blue] = [rgba[at], rgba[at + 1], rgba[at + 2]];
    const alpha = rgba[at + 3];
    if (alpha < 255) [red, green, blue] = [onWhite(red, alpha), onWhite(green, alpha), onWhite(blue, alpha)];
    [red, green, blue] = [table[red], table[green], table[blue]];
    if (channels === 1) data[to] = (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
    else [data[to], data[to + 1], data[to + 2]] = [red, green, blue];
  }
  return { data, width, height, channels };
}

/** Share of the range that the highest level of a dark picture stays below, as in model/photo_levels.py. */
const DARK = 0.5;

/** Whether a picture with these lowest and highest levels is dark to the model. @param {number[]} levels */
export const isDark = ([low, high]) => low < high && high < DARK * 255;

/** Whether stretching changes a picture with these levels. @param {number[]} levels */
export const canStretch = ([low, high]) => low < high && (low > 0 || high < 255);

/**
 * What each level becomes: stretched, then inverted. (256)
 * @param {{inverted?: boolean, stretched?: boolean}} [look]
 * @param {number[]} [levels]  the lowest and the highest of the picture
 */
export function tableOf({ inverted = false, stretched = false } = {}, levels = [0, 255]) {
  const [low, high] = stretched && canStretch(levels) ? levels : [0, 255];
  return Uint8Array.from({ length: 256 }, (_, level) => {
    const value = rounded((Math.min(Math.max(level, low), high) - low) * (255 / (high - low)));
    return inverted ? 255 - value : value;
  });
}

const AS_IT_IS = tableOf();

/**
 * The lowest and the highest level of a photo in any colour; transparent pixels are laid over white.
 * @param {Uint8Array|Uint8ClampedArray} rgba
 * @returns {[number, number]}
 */
export function levelsOf(rgba) {
  let [low, high] = [255, 0];
  for (let at = 0; at < rgba.length && (low > 0 || high < 255); at += 4) {
    const alpha = rgba[at + 3];
    for (let channel = 0; channel < 3; channel++) {
      const value = alpha < 255 ? onWhite(rgba[at + channel], alpha) : rgba[at + channel];
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

/** A value laid over white, as in Pillow. */
function onWhite(value, alpha) {
  if (alpha === 0) return 255;
  const sum = value * alpha * 128 + 255 * (255 - alpha) * 128 + 0x80 * 128;
  return (((sum >> 8) + sum) >> 8) >> 7;
}

/**
 * The preprocessing whose pictures lack the last rows and columns, which fill no patch: `picture_of` in
 * vitviz/probe/analysis.py.
 * @param {Preprocess} preprocess
 * @param {[number, number]} size  height and width of the whole patches
 * @returns {Preprocess}
 */
export const cutTo = (preprocess, size) => ({ ...preprocess, size, uncut: preprocess.size });

/**
 * The model's picture, before normalisation.
 * @param {Picture} photo  in the model's channels
 * @param {Preprocess} preprocess
 * @returns {Picture}
 */
export function pictureOf(photo, preprocess) {
  const [height, width] = preprocess.uncut ?? preprocess.size;
  const [fullHeight, fullWidth] = fullSize(photo, preprocess);
  let [top, left] = [offset(fullHeight, height, preprocess), offset(fullWidth, width, preprocess)];
  const method = /** @type {import("./resampling.js").Method} */ (preprocess.interpolation);
  if (fullHeight * fullWidth <= MOST_RESIZED)
    return framed(resized(photo, fullWidth, fullHeight, method), top, left, preprocess);
  const [y, rows] = kept(fullHeight, top, height);
  const [x, cols] = kept(fullWidth, left, width);
  const [down, right] = [photo.height / fullHeight, photo.width / fullWidth];
  const part = resized(photo, cols, rows, method, [
    x * right,
    y * down,
    Math.min((x + cols) * right, photo.width),
    Math.min((y + rows) * down, photo.height),
  ]);
  [top, left] = [top - y, left - x];
  return framed(part, top, left, preprocess);
}

/** For a picture that is what a model sees already. @param {Preprocess} preprocess @returns {Preprocess} */
export const uncropped = (preprocess) => ({ ...preprocess, uncut: undefined, crop_pct: 1 });

/** The size of the whole photo before the crop, (height, width). */
function fullSize({ width, height }, { size, uncut = size, crop_pct: share, crop_mode: mode }) {
  const [high, wide] = uncut.map((side) => Math.max(1, Math.floor(side / share)));
  if (mode === "squash") return [high, wide];
  if (mode === "center" && high === wide) {
    const long = Math.trunc((high * Math.max(height, width)) / Math.min(height, width));
    return height <= width ? [high, long] : [long, high];
  }
  const ratio = Math[mode === "border" ? "max" : "min"](height / high, width / wide);
  return [Math.max(1, rounded(height / ratio)), Math.max(1, rounded(width / ratio))];
}

/** Offset of the crop along a side; below 0 if a margin is needed. */
function offset(full, side, { crop_floor: floor = false }) {
  if (full < side) return -Math.floor((side - full) / 2);
  return floor ? Math.floor((full - side) / 2) : rounded((full - side) / 2);
}

/** First index and number of the pixels of an axis inside the crop. */
function kept(full, start, side) {
  const first = Math.max(start, 0);
  return [first, Math.min(start + side, full) - first];
}

/**
 * The part of a photo that a model sees: top, left, bottom, right, in its pixels. It reaches beyond the photo
 * where there is a margin.
 * @param {{width: number, height: number}} photo
 * @param {Preprocess} preprocess
 */
export function framing(photo, preprocess) {
  const { size, uncut = size } = preprocess;
  const [height, width] = size;
  const [fullHeight, fullWidth] = fullSize(photo, preprocess);
  const [top, left] = [offset(fullHeight, uncut[0], preprocess), offset(fullWidth, uncut[1], preprocess)];
  const [down, right] = [photo.height / fullHeight, photo.width / fullWidth];
  return [top * down, left * right, (top + height) * down, (left + width) * right];
}

/** The colour around a photo that does not fill the picture. @param {Preprocess} preprocess */
export const marginOf = ({ mean, crop_mode: mode }) =>
  mean.map((value) => (mode === "border" ? rounded(255 * value) : 0));

/**
 * Limits of `hasColours`: sampled places a side; difference of channels, in levels, that counts as a colour;
 * share of such places in a coloured picture.
 */
const [PLACES, COLOURFUL, COLOURED] = [64, 40, 0.05];

/**
 * Whether enough pixels have a clear colour, not only a tint.
 * @param {{data: Uint8Array|Uint8ClampedArray, width: number, height: number}} photo  red, green, blue, alpha
 * @param {Uint8Array} [table]  what each level becomes
 */
export function hasColours({ data, width, height }, table = AS_IT_IS) {
  const places = (side) =>
    Array.from({ length: PLACES }, (_, at) => Math.floor(((at + 0.5) * side) / PLACES));
  const columns = places(width);
  let count = 0;
  for (const row of places(height)) {
    for (const col of columns) {
      const at = 4 * (row * width + col);
      const { data: colour } = inChannels({ data: data.subarray(at, at + 4), width: 1, height: 1 }, 3, table);
      if (Math.max(...colour) - Math.min(...colour) > COLOURFUL) count += 1;
    }
  }
  return count / PLACES ** 2 > COLOURED;
}

/** A part of a picture, with a margin where it is too small. @returns {Picture} */
function framed({ data, width, height, channels }, top, left, preprocess) {
  const [rows, cols] = preprocess.size;
  const fill = marginOf(preprocess);
  const out = new Uint8ClampedArray(rows * cols * channels);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const [y, x] = [row + top, col + left];
      const inside = y >= 0 && y < height && x >= 0 && x < width;
      for (let channel = 0; channel < channels; channel++) {
        out[(row * cols + col) * channels + channel] = inside
          ? data[(y * width + x) * channels + channel]
          : fill[channel];
      }
    }
  }
  return { data: out, width: cols, height: rows, channels };
}

/**
 * The input of the model: (picture / 255 - mean) / std. (h, w, C) bytes -> (C, h, w)
 */
export function normalised({ config, preprocess: { mean, std } }, picture) {
  const { in_chans: channels } = config;
  const [height, width] = config.image_size;
  const pixels = new Float32Array(picture.length);
  for (let c = 0; c < channels; c++) {
    const [middle, spread] = [Math.fround(mean[c]), Math.fround(std[c])];
    for (let i = 0; i < height * width; i++)
      pixels[c * height * width + i] =
        Math.fround(Math.fround(picture[i * channels + c] / 255) - middle) / spread;
  }
  return pixels;
}
