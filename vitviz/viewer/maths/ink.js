/** Ink: whether strokes are dark on a light ground, as in vitviz/probe/measure/ink.py. */

import { rounded } from "./pixels.js";

const RIM = 1 / 14;
const STROKES = 0.02;
const CONTRAST = 0.15;

/**
 * Whether the darkest pixels are further from the ground, the median of the rim, than the lightest.
 * @param {import("./resampling.js").Picture} picture  grey
 */
export function isDarkOnLight({ data, width, height }) {
  const [rows, cols] = [height, width].map((side) => Math.max(1, rounded(side * RIM)));
  const inside = (at, side, rim) => at >= rim && at < side - rim;
  const rim = data.filter(
    (_, at) => !(inside(Math.floor(at / width), height, rows) && inside(at % width, width, cols)),
  );
  const ground = level(rim, 0.5);
  return ground - level(data, STROKES) > Math.max(level(data, 1 - STROKES) - ground, 255 * CONTRAST);
}

/** The level from 0 to 255 that this share of the values does not exceed. */
function level(values, share) {
  const counts = new Uint32Array(256);
  for (const value of values) counts[value] += 1;
  let [below, at] = [0, 0];
  while (at < 256 && (below += counts[at]) < share * values.length) at += 1;
  return at;
}
