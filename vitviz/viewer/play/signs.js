/**
 * Signs: kinds of drawings with names of one's own, as digits to train on, and as one file. A drawing is
 * strokes of state/strokes.js, in the middle of its square and as large as a digit. No document in here.
 */

import { Twister } from "../maths/twister.js";
import { broughtTo } from "../state/strokes.js";

/**
 * @typedef {import("../state/strokes.js").Stroke} Stroke
 * @typedef {Stroke[]} Drawing
 * @typedef {{name: string, drawings: Drawing[]}} Kind
 */

export const FEWEST_KINDS = 2;
export const MOST_KINDS = 4;
/** Number of drawings of each kind that the page asks for; a class that merges its drawings has more. */
export const WANTED = 8;
export const MOST_DRAWINGS = 64;
export const LONGEST_NAME = 20;
export const MOST_BYTES = 4 * 2 ** 20; // of a file: 256 drawings of 16 kB, ten times what a hand draws
const [MOST_STROKES, MOST_POINTS] = [40, 400]; // of a drawing in a file
const PENS = { least: 0.01, most: 0.3 };

const SIDE = 28;
const TAUGHT = { side: 20 / SIDE, least: 0, most: 1, off: 1 }; // as a digit of MNIST lies
const NEAREST = 0.5 / SIDE; // points that lie nearer are dropped
const [EACH, SEED] = [192, 1]; // pictures made of each kind
const AWAY = { turned: Math.PI / 12, sized: 0.1, moved: 2 / SIDE, thicker: 0.35 };

/** Says what is wrong with a file, by a text of the playground. */
export class SignsError extends Error {
  /** @param {string} key @param {Record<string, any>} [values] */
  constructor(key, values = {}) {
    super(key);
    Object.assign(this, { key, values });
  }
  key = "";
  values = /** @type {Record<string, any>} */ ({});
}

/**
 * A drawing in its stored form: centred, as large as a digit, without superfluous points.
 * @param {Stroke[]} strokes  at least one
 * @returns {Drawing}
 */
export function kept(strokes) {
  const rounded = (value) => Math.round(1000 * value) / 1000;
  return broughtTo(strokes, TAUGHT)
    .slice(0, MOST_STROKES)
    .map(({ width, points }) => {
      let last = points[0];
      const some = points.filter((point, at) => {
        const isFar =
          at === 0 ||
          at === points.length - 1 ||
          Math.hypot(point[0] - last[0], point[1] - last[1]) >= NEAREST;
        if (isFar) last = point;
        return isFar;
      });
      return {
        width: rounded(width),
        points: some
          .slice(0, MOST_POINTS)
          .map(([x, y]) => /** @type {[number, number]} */ ([rounded(x), rounded(y)])),
      };
    });
}

/** The pixels of a drawing, white on black. (28 * 28) @param {Drawing} drawing */
export function pixelsOf(drawing) {
  const ink = new Float32Array(SIDE * SIDE);
  for (const { width, points } of drawing) {
    const radius = (width * SIDE) / 2;
    points.forEach((point, at) => lay(ink, radius, points[Math.max(0, at - 1)], point));
  }
  return Uint8Array.from(ink, (share) => Math.round(255 * share));
}

/** Lays a straight piece with round ends; a pixel has as much ink as its middle lies within. */
function lay(ink, radius, from, to) {
  const [x0, y0, x1, y1] = [...from, ...to].map((share) => SIDE * share);
  const [across, down] = [x1 - x0, y1 - y0];
  const length = across * across + down * down;
  const span = (a, other) => [
    Math.max(0, Math.floor(Math.min(a, other) - radius - 1)),
    Math.min(SIDE - 1, Math.ceil(Math.max(a, other) + radius + 1)),
  ];
  const [[left, right], [top, bottom]] = [span(x0, x1), span(y0, y1)];
  for (let row = top; row <= bottom; row++) {
    for (let col = left; col <= right; col++) {
      const [x, y] = [col + 0.5 - x0, row + 0.5 - y0];
      const along = length > 0 ? Math.min(1, Math.max(0, (x * across + y * down) / length)) : 0;
      const share = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x - along * across, y - along * down)));
      if (share > ink[row * SIDE + col]) ink[row * SIDE + col] = share;
    }
  }
}

/**
 * The drawing turned, sized, moved and thickened a little: by five numbers from -1 to 1.
 * @param {Drawing} drawing
 * @param {ArrayLike<number>} by
 * @returns {Drawing}
 */
export function varied(drawing, by) {
  const [angle, size] = [AWAY.turned * by[0], 1 + AWAY.sized * by[1]];
  const [cos, sin] = [size * Math.cos(angle), size * Math.sin(angle)];
  return drawing.map(({ width, points }) => ({
    width: width * (1 + AWAY.thicker * by[4]),
    points: points.map(([x, y]) => {
      const [right, below] = [x - 0.5, y - 0.5];
      return [
        0.5 + cos * right - sin * below + AWAY.moved * by[2],
        0.5 + sin * right + cos * below + AWAY.moved * by[3],
      ];
    }),
  }));
}

/** Number of drawings of a kind that are held out: the last few, never trained on. @param {number} count */
const heldOut = (count) => Math.max(1, Math.floor(count / 4));

/**
 * Whether the kinds can be learned: there are at least two, each with at least two drawings.
 * @param {Kind[]} kinds
 */
export const isEnough = (kinds) =>
  kinds.length >= FEWEST_KINDS && kinds.every(({ drawings }) => drawings.length >= 2);

/**
 * The data set of a run. Training: the same number of pictures for each kind, every one a varied drawing.
 * Test: the held-out drawings unchanged, one of each kind in turn. The same kinds give the same pictures.
 * @param {Kind[]} kinds  that are enough @returns {import("./playground.js").Digits}
 */
export function setOf(kinds) {
  const chance = new Twister(SEED);
  const train = pictures(EACH * kinds.length);
  for (let at = 0; at < train.labels.length; at++) {
    const label = at % kinds.length;
    const { drawings } = kinds[label];
    const drawing = drawings[Math.floor(at / kinds.length) % (drawings.length - heldOut(drawings.length))];
    put(train, at, label, varied(drawing, chance.uniforms(5, -1, 1)));
  }
  const rest = kinds.map(({ drawings }) => drawings.slice(-heldOut(drawings.length)));
  const longest = Math.max(...rest.map(({ length }) => length));
  const turns = Array.from({ length: longest }, (_, at) =>
    rest.flatMap((some, label) => (at < some.length ? [{ label, drawing: some[at] }] : [])),
  ).flat();
  const test = pictures(turns.length);
  turns.forEach(({ label, drawing }, at) => put(test, at, label, drawing));
  return { train, test, classes: kinds.map(({ name }) => name) };
}

const pictures = (count) => ({ pixels: new Uint8Array(count * SIDE * SIDE), labels: new Uint8Array(count) });

function put({ pixels, labels }, at, label, drawing) {
  pixels.set(pixelsOf(drawing), at * SIDE * SIDE);
  labels[at] = label;
}

/** One file with all drawings. @param {Kind[]} kinds */
export const fileOf = (kinds) =>
  JSON.stringify({
    vitviz: "signs",
    kinds: kinds.map(({ name, drawings }) => ({
      name,
      drawings: drawings.map((drawing) => drawing.map(({ width, points }) => [width, points])),
    })),
  });

/**
 * The kinds in the text of a file that anybody may have written. Throws a SignsError for any other text.
 * @param {string} text
 * @returns {Kind[]}
 */
export function readFile(text) {
  if (text.length > MOST_BYTES) throw new SignsError("signsLong", { most: MOST_BYTES >> 20 });
  let content = null;
  try {
    content = JSON.parse(text);
  } catch {
    // said below
  }
  const kinds = content?.vitviz === "signs" && Array.isArray(content.kinds) ? content.kinds : null;
  if (!kinds || kinds.length < 1) throw new SignsError("signsNone");
  if (kinds.length > MOST_KINDS) throw new SignsError("signsTooManyKinds", { most: MOST_KINDS });
  const names = new Set();
  return kinds.map((kind) => {
    const name = nameIn(kind?.name);
    if (names.has(name)) throw new SignsError("signsTwice", { name });
    names.add(name);
    const { drawings } = kind;
    if (!Array.isArray(drawings) || drawings.length > MOST_DRAWINGS)
      throw new SignsError("signsMany", { name, most: MOST_DRAWINGS });
    return { name, drawings: drawings.map((drawing) => drawingIn(drawing, name)) };
  });
}

/** A name as it can be shown. @param {any} name */
export function nameIn(name) {
  const seen = seenName(name);
  if (seen === "") throw new SignsError("signsUnnamed");
  return seen;
}

/** A name without what cannot be seen, and not too long; "" if nothing is left. @param {any} name */
export function seenName(name) {
  const seen =
    typeof name === "string"
      ? name
          .slice(0, 1000)
          .replace(/[\p{C}\p{Z}]+/gu, " ")
          .trim()
      : "";
  return [...seen].slice(0, LONGEST_NAME).join("");
}

/** @returns {Drawing} */
function drawingIn(strokes, name) {
  const good = (value, least, most) => typeof value === "number" && value >= least && value <= most;
  const isStroke = (stroke) =>
    Array.isArray(stroke) &&
    stroke.length === 2 &&
    good(stroke[0], PENS.least, PENS.most) &&
    Array.isArray(stroke[1]) &&
    stroke[1].length > 0 &&
    stroke[1].length <= MOST_POINTS &&
    stroke[1].every(
      (point) => Array.isArray(point) && point.length === 2 && point.every((share) => good(share, 0, 1)),
    );
  if (
    !Array.isArray(strokes) ||
    strokes.length < 1 ||
    strokes.length > MOST_STROKES ||
    !strokes.every(isStroke)
  )
    throw new SignsError("signsBroken", { name });
  return strokes.map(([width, points]) => ({ width, points }));
}

/**
 * The kinds with those of a file: equal names are one kind, and what is there already does not come twice.
 * Throws a SignsError where there are too many.
 * @param {Kind[]} kinds
 * @param {Kind[]} others
 * @returns {Kind[]}
 */
export function joined(kinds, others) {
  const all = kinds
    .filter(({ drawings }) => drawings.length > 0)
    .map(({ name, drawings }) => ({ name, drawings: [...drawings] }));
  for (const { name, drawings } of others) {
    const known = all.find((kind) => kind.name === name) ?? all[all.push({ name, drawings: [] }) - 1];
    const written = new Set(known.drawings.map((drawing) => JSON.stringify(drawing)));
    known.drawings.push(...drawings.filter((drawing) => !written.has(JSON.stringify(drawing))));
    if (known.drawings.length > MOST_DRAWINGS)
      throw new SignsError("signsMany", { name, most: MOST_DRAWINGS });
  }
  if (all.length > MOST_KINDS) throw new SignsError("signsTooManyKinds", { most: MOST_KINDS });
  return all;
}
