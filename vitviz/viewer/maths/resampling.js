/** Resampling: resizes a picture, byte for byte as Pillow does. */

/**
 * Rows of pixels, each with its channels one after the other.
 * @typedef {{data: Uint8Array|Uint8ClampedArray, width: number, height: number, channels: number}} Picture
 * @typedef {"bilinear"|"bicubic"} Method
 */

const PRECISION = 22; // bits behind the point of a weight
const HALF = 2 ** (PRECISION - 1);

/** Filters: weight of a pixel at a distance from the middle, and the largest distance with a weight. */
const FILTERS = {
  bilinear: { reach: 1, weight: (far) => Math.max(0, 1 - far) },
  bicubic: {
    reach: 2,
    weight: (far) =>
      far < 1 ? (1.5 * far - 2.5) * far * far + 1 : far < 2 ? (((far - 5) * far + 8) * far - 4) * -0.5 : 0,
  },
};

/**
 * The picture in another size: columns first, then rows, rounded to bytes after each.
 * @param {Picture} picture
 * @param {number} width
 * @param {number} height
 * @param {Method} method
 * @param {[number, number, number, number]} box  left, top, right, bottom of the part that is taken
 * @returns {Picture}
 */
export function resized(picture, width, height, method, box = [0, 0, picture.width, picture.height]) {
  const [left, top, right, bottom] = box.map(Math.fround);
  let now = picture;
  if (width !== now.width || left !== 0 || right !== width)
    now = acrossColumns(now, width, mixesOf(now.width, left, right, width, FILTERS[method]));
  if (height !== now.height || top !== 0 || bottom !== height)
    now = acrossRows(now, height, mixesOf(now.height, top, bottom, height, FILTERS[method]));
  return now;
}

/**
 * For each new pixel of an axis the first of its source pixels, and their weights as whole numbers.
 * @returns {{first: number, weights: Int32Array}[]}
 */
function mixesOf(size, from, to, count, { reach, weight }) {
  const scale = Math.fround(to - from) / count;
  const wide = Math.max(scale, 1); // when shrinking, every pixel must have a weight
  return Array.from({ length: count }, (_, place) => {
    const middle = from + (place + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach * wide + 0.5));
    const end = Math.min(size, Math.trunc(middle + reach * wide + 0.5));
    const exact = Float64Array.from({ length: end - first }, (_, at) =>
      weight(Math.abs((at + first - middle + 0.5) * (1 / wide))),
    );
    const sum = exact.reduce((total, weight) => total + weight, 0) || 1;
    return {
      first,
      weights: Int32Array.from(exact, (share) => {
        const whole = (share / sum) * 2 ** PRECISION;
        return Math.trunc(whole + (whole < 0 ? -0.5 : 0.5));
      }),
    };
  });
}

/** @returns {Picture} */
function acrossColumns({ data, width, height, channels }, count, mixes) {
  const out = new Uint8ClampedArray(count * height * channels);
  for (let row = 0; row < height; row++) {
    for (let col = 0; col < count; col++) {
      const { first, weights } = mixes[col];
      mix(
        data,
        (row * width + first) * channels,
        channels,
        weights,
        out,
        (row * count + col) * channels,
        channels,
      );
    }
  }
  return { data: out, width: count, height, channels };
}

/** @returns {Picture} */
function acrossRows({ data, width, channels }, count, mixes) {
  const length = width * channels;
  const out = new Uint8ClampedArray(count * length);
  for (let row = 0; row < count; row++) {
    const { first, weights } = mixes[row];
    mix(data, first * length, length, weights, out, row * length, length);
  }
  return { data: out, width, height: count, channels };
}

/** Weighted sums of values with a stride, for `count` neighbours. */
function mix(data, from, stride, weights, out, to, count) {
  for (let i = 0; i < count; i++) {
    let sum = HALF;
    for (let k = 0, at = from + i; k < weights.length; k++, at += stride) sum += data[at] * weights[k];
    out[to + i] = sum >> PRECISION;
  }
}
