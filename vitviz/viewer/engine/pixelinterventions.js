/** Pixel interventions: byte for byte as Python and Pillow compute them. */

import { Chance } from "../maths/chance.js";
import { rounded } from "../maths/pixels.js";

/**
 * The picture after an intervention, (h, w, C) bytes; unchanged by one that does not touch pixels.
 * @param {Uint8Array} picture
 * @param {import("./surgery.js").Intervention} intervention
 * @param {import("./config.js").Config} config
 * @returns {Uint8Array}
 */
export function pictureWith(picture, intervention, config) {
  const { in_chans: channels, cols } = config;
  const [[, width], [ph, pw]] = [config.image_size, config.patch_size];
  const after = picture.slice();
  const move = (source, from, to) => {
    const start = (patch, y) =>
      ((Math.floor(patch / cols) * ph + y) * width + (patch % cols) * pw) * channels;
    for (let y = 0; y < ph; y++)
      after.set(source.subarray(start(from, y), start(from, y) + pw * channels), start(to, y));
  };
  if (intervention.kind === "replace") {
    const source = sourceOf(picture, intervention, config);
    for (const patch of intervention.patches) move(source, patch, patch);
  } else if (intervention.kind === "swap") {
    const [a, b] = intervention.patches;
    move(picture, a, b);
    move(picture, b, a);
  } else if (intervention.kind === "shuffle") {
    shuffled(config, intervention).forEach((from, place) => move(picture, from, place));
  } else {
    return picture;
  }
  return after;
}

/**
 * The picture of the same size from which the replaced patches are taken.
 * @param {Uint8Array} picture
 * @param {any} intervention
 * @param {any} config
 * @returns {Uint8Array}
 */
function sourceOf(picture, { by, seed }, { image_size: [height, width], in_chans: channels, patch_size }) {
  if (by === "black") return new Uint8Array(picture.length);
  if (by === "blur") return blurred(picture, height, width, channels, Math.max(...patch_size) / 2);
  if (by === "noise")
    return Uint8Array.from(new Chance(seed, "noise").below(new Uint32Array(picture.length).fill(256)));
  const sums = new Float64Array(channels);
  for (let i = 0; i < picture.length; i++) sums[i % channels] += picture[i];
  return picture.map((_, i) => rounded(sums[i % channels] / (height * width)));
}

/**
 * For each place the patch that moves there when the cells of the picture are shuffled.
 * @param {any} config
 * @param {any} intervention
 */
function shuffled({ rows, cols }, { cells: side, seed }) {
  const [down, across] = [rows / side, cols / side];
  const order = new Chance(seed, "shuffle").permutation(down * across);
  return Array.from({ length: rows * cols }, (_, place) => {
    const [row, col] = [Math.floor(place / cols), place % cols];
    const cell = order[Math.floor(row / side) * across + Math.floor(col / side)];
    return (Math.floor(cell / across) * side + (row % side)) * cols + (cell % across) * side + (col % side);
  });
}

/**
 * Pillow's GaussianBlur: three box blurs along the rows, then three along the columns, each rounded to bytes.
 * A box is 2 r + 1 pixels and a share of the next on both sides (Gwosdek et al. 2011), in fixed point; all in
 * single precision as there.
 */
function blurred(picture, height, width, channels, radius) {
  const f = Math.fround;
  const variance = f(f(radius * radius) / 3);
  const whole = Math.floor((f(Math.sqrt(12 * variance + 1)) - 1) / 2);
  const share = f(
    f((2 * whole + 1) * f(whole * (whole + 1) - f(3 * variance))) / f(6 * f(variance - (whole + 1) ** 2)),
  );
  const box = f(whole + share);
  const r = Math.floor(box);
  const inner = Math.floor(f(2 ** 24 / f(f(box * 2) + 1)));
  const outer = Math.floor((2 ** 24 - (2 * r + 1) * inner) / 2);
  const line = (from, length, step, source, to) => {
    const at = (i) => source[from + Math.min(Math.max(i, 0), length - 1) * step];
    for (let i = 0; i < length; i++) {
      let sum = 0;
      for (let j = i - r; j <= i + r; j++) sum += at(j);
      to[from + i * step] = (sum * inner + (at(i - r - 1) + at(i + r + 1)) * outer + 2 ** 23) / 2 ** 24;
    }
  };
  let now = picture;
  for (let pass = 0; pass < 6; pass++) {
    const next = new Uint8Array(now.length);
    for (let c = 0; c < channels; c++) {
      if (pass < 3)
        for (let y = 0; y < height; y++) line(y * width * channels + c, width, channels, now, next);
      else for (let x = 0; x < width; x++) line(x * channels + c, height, width * channels, now, next);
    }
    now = next;
  }
  return now;
}
