/** Angles: rotary positions, by which q and k of each token are turned, as in vitviz/model/positions.py. */

/**
 * Rotary angles. heads: 1 if all heads share them; cos, sin: (heads, N, d / 2); places: the coordinates of
 * each patch along the axes of the first and of the second frequencies, (P) each.
 * @typedef {{heads: number, cos: Float32Array, sin: Float32Array, places: [Float32Array, Float32Array]}}
 *   Angles
 */

/**
 * The angles of a model.
 * @param {import("./config.js").Config} config
 * @param {Float32Array} [freqs]  learned frequencies, (2, H, d / 2)
 * @returns {Angles|null}  null for a model without rotary positions
 */
export function anglesOf(config, freqs) {
  const { rotary, rows, cols, num_heads, head_dim, num_prefix_tokens: prefix, num_tokens: tokens } = config;
  if (!rotary) return null;
  const half = head_dim / 2;
  const heads = freqs ? num_heads : 1;
  const [firsts, seconds] = rotary.order === "yx" ? [0, 1] : [1, 0];
  const steps = [axis(rotary, 0, rows), axis(rotary, 1, cols)];
  const along = (which) =>
    Float32Array.from(
      { length: rows * cols },
      (_, patch) => steps[which][which === 0 ? Math.floor(patch / cols) : patch % cols],
    );
  const [first, second] = [along(firsts), along(seconds)];
  /** Frequency: the angle per step along axis 0 or 1 of channel pair m. */
  const freq = (which, head, m) => {
    if (freqs) return freqs[(which * heads + head) * half + m];
    const [inHalf, at] = [m < half / 2 ? 0 : 1, m % (half / 2)];
    return inHalf === which ? Math.fround(rotary.temperature ** -(at / (half / 2))) : 0;
  };
  const made = {
    heads,
    cos: new Float32Array(heads * tokens * half).fill(1),
    sin: new Float32Array(heads * tokens * half),
    places: /** @type {[Float32Array, Float32Array]} */ ([first, second]),
  };
  for (let head = 0; head < heads; head++) {
    for (let patch = 0; patch < rows * cols; patch++) {
      for (let m = 0, at = (head * tokens + prefix + patch) * half; m < half; m++, at++) {
        const angle = Math.fround(
          Math.fround(first[patch] * freq(0, head, m)) + Math.fround(second[patch] * freq(1, head, m)),
        );
        made.cos[at] = Math.cos(angle);
        made.sin[at] = Math.sin(angle);
      }
    }
  }
  return made;
}

/** The coordinate of each step along an axis of the grid. */
function axis({ kind, offset, reference }, which, count) {
  return Float32Array.from({ length: count }, (_, step) =>
    kind === "normalised"
      ? 2 * Math.PI * ((2 * (step + 0.5)) / count - 1)
      : ((step + offset) / count) * (reference ? reference[which] : count),
  );
}

/**
 * Turn the channels m and m + d / 2 of each token by angle m, in place.
 * @param {Float32Array} f
 * @param {number} at  index of the first of the numbers (H, N, d)
 * @param {Angles} angles
 * @param {{heads: number, tokens: number, all: number, apart: number, dim: number, stride: number}} sizes
 *   of the sequence; all: number of tokens that have angles; apart: distance between heads, stride: between
 *   tokens, in numbers
 * @param {ArrayLike<number>|null} places  for each row the token whose angles it gets; null: its own
 * @param {1|-1} [way]  -1: turn back
 */
export function turn(f, at, angles, { heads, tokens, all, apart, dim, stride }, places, way = 1) {
  const half = dim / 2;
  for (let head = 0; head < heads; head++) {
    for (let token = 0; token < tokens; token++) {
      const from = ((angles.heads === 1 ? 0 : head) * all + (places ? places[token] : token)) * half;
      const x = at + head * apart + token * stride;
      for (let m = 0; m < half; m++) {
        const a = f[x + m],
          b = f[x + half + m],
          cos = angles.cos[from + m],
          sin = way * angles.sin[from + m];
        f[x + m] = a * cos - b * sin;
        f[x + half + m] = a * sin + b * cos;
      }
    }
  }
}
