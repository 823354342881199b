/** Strokes: what a pen has drawn on a square field, as values. No document in here. */

/**
 * Points are shares of the field, from its upper left corner; width: of the pen, in shares of the field.
 * @typedef {{width: number, points: [number, number][]}} Stroke
 */

/** More than a hand draws on such a field; what comes after is not drawn, so that memory stays bounded. */
export const MOST_STROKES = 200;
export const MOST_POINTS = 4000;

const within = (share) => Math.min(1, Math.max(0, share));

/** The strokes with one more, which begins here. @param {Stroke[]} strokes @returns {Stroke[]} */
export function begun(strokes, width, [x, y]) {
  if (strokes.length >= MOST_STROKES) return strokes;
  return [...strokes, { width, points: [[within(x), within(y)]] }];
}

/** The strokes with the last one drawn on to a point. @param {Stroke[]} strokes @returns {Stroke[]} */
export function extended(strokes, [x, y]) {
  const last = strokes.at(-1);
  if (!last || last.points.length >= MOST_POINTS) return strokes;
  return [...strokes.slice(0, -1), { ...last, points: [...last.points, /** @type {[number, number]} */ ([within(x), within(y)])] }];
}

/** A pen that is moved by keys: where it is, and whether it writes. @typedef {{at: [number, number], down: boolean}} Pen */

/** Where a key moves the pen: along rows and columns of a field of so many. Null for other keys. */
export function moved([x, y], key, steps) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  return way ? /** @type {[number, number]} */ ([within(x + way[0] / steps), within(y + way[1] / steps)]) : null;
}
