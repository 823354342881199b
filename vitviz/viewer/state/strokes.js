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
  return [
    ...strokes.slice(0, -1),
    { ...last, points: [...last.points, /** @type {[number, number]} */ ([within(x), within(y)])] },
  ];
}

/**
 * The longer side of what is drawn, and its centre of mass; shares of the field.
 * @param {Stroke[]} strokes  at least one
 */
export function extentOf(strokes) {
  const points = strokes.flatMap((stroke) => stroke.points);
  const pen = Math.max(...strokes.map(({ width }) => width));
  const across = [0, 1].map((axis) =>
    points
      .map((point) => point[axis])
      .reduce(([low, high], at) => [Math.min(low, at), Math.max(high, at)], [1, 0]),
  );
  const side = Math.max(...across.map(([low, high]) => high - low));
  // Ink lies along the strokes, and half a dot of it at each end.
  let [mass, x, y] = [0, 0, 0];
  const lay = (ink, at) => {
    mass += ink;
    x += ink * at[0];
    y += ink * at[1];
  };
  for (const { width, points: all } of strokes) {
    for (const end of [all[0], all[all.length - 1]]) lay((width * width) / 2, end);
    all.reduce((one, two) => {
      lay(width * Math.hypot(two[0] - one[0], two[1] - one[1]), [
        (one[0] + two[0]) / 2,
        (one[1] + two[1]) / 2,
      ]);
      return two;
    });
  }
  return { side, pen, centre: /** @type {[number, number]} */ ([x / mass, y / mass]) };
}

/**
 * Whether a model saw nothing so small, so large or so far from the middle when it was trained.
 * @param {Stroke[]} strokes  at least one
 * @param {import("../types.js").TaughtPlace} taught
 */
export function liesElsewhere(strokes, { least, most, off }) {
  const { side, pen, centre } = extentOf(strokes);
  return side + pen < least || side + pen > most || centre.some((at) => Math.abs(at - 0.5) > off);
}

/**
 * The strokes in the middle and of the size that was taught, with the same pen.
 * @param {Stroke[]} strokes  at least one
 * @returns {Stroke[]}
 */
export function broughtTo(strokes, { side: wanted }) {
  const { side, pen } = extentOf(strokes);
  const times = side > 0 ? Math.max(wanted - pen, 0) / side : 1;
  const sized = eachPoint(strokes, (at) => times * at);
  const { centre } = extentOf(sized); // behind the change of size: the pen has kept its width
  return eachPoint(sized, (at, axis) => within(0.5 + at - centre[axis]));
}

/** @param {Stroke[]} strokes @param {(at: number, axis: number) => number} place @returns {Stroke[]} */
const eachPoint = (strokes, place) =>
  strokes.map(({ width, points }) => ({ width, points: points.map(([x, y]) => [place(x, 0), place(y, 1)]) }));

/**
 * A pen that is moved by keys: where it is, and whether it writes.
 * @typedef {{at: [number, number], down: boolean}} Pen
 */

/**
 * The position of the pen after a key: along rows and columns of a field with that many steps. Null for other
 * keys.
 */
export function moved([x, y], key, steps) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  return way
    ? /** @type {[number, number]} */ ([within(x + way[0] / steps), within(y + way[1] / steps)])
    : null;
}
