/** Draws: the weights that a training began with, drawn as torch draws them, with the numbers that vitviz/model/untrained.py tells of them. */

/**
 * @typedef {{seed: number, shapes: Record<string, number[]>, same: Record<string, number>,
 *   steps: {skip?: number, name?: string, way?: "normal"|"uniform", by?: [number, number], factor?: number}[]}} Draws
 */

const [SIZE, SHIFT] = [624, 397];

/** Words of the Mersenne Twister (Matsumoto and Nishimura 1998), as torch begins it with a seed. @param {number} seed */
export function twister(seed) {
  const state = new Uint32Array(SIZE);
  state[0] = seed;
  for (let at = 1; at < SIZE; at++) state[at] = Math.imul(1812433253, state[at - 1] ^ (state[at - 1] >>> 30)) + at;
  let next = SIZE;
  return () => {
    if (next === SIZE) {
      for (let at = 0; at < SIZE; at++) {
        const word = (state[at] & 0x80000000) | (state[(at + 1) % SIZE] & 0x7fffffff);
        state[at] = state[(at + SHIFT) % SIZE] ^ (word >>> 1) ^ (word & 1 ? 0x9908b0df : 0);
      }
      next = 0;
    }
    let word = state[next++];
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  };
}

/** From 0 to below 1, in steps of 2 ** -24. */
const share = (word) => (word & 0xffffff) / 2 ** 24;

/** Of sixteen shares at a place normal numbers: those of the first half with those of the second (Box and Muller 1958). */
function toNormal(numbers, at, [mean, deviation]) {
  for (let i = at; i < at + 8; i++) {
    const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - numbers[i])), 2 * Math.PI * numbers[i + 8]];
    numbers[i] = radius * Math.cos(angle) * deviation + mean;
    numbers[i + 8] = radius * Math.sin(angle) * deviation + mean;
  }
}

/**
 * Numbers as `normal_` and `uniform_` of torch draw them on a processor: of normal ones at least 16.
 * @param {() => number} words
 * @param {number} count
 * @param {"normal"|"uniform"} way
 * @param {[number, number]} by  mean and deviation, or least and most
 */
export function drawn(words, count, way, by) {
  const numbers = new Float32Array(count);
  for (let at = 0; at < count; at++) numbers[at] = share(words());
  if (way === "uniform") return numbers.map((one) => one * (by[1] - by[0]) + by[0]);
  for (let at = 0; at + 16 <= count; at += 16) toNormal(numbers, at, by);
  if (count % 16 === 0) return numbers;
  for (let at = count - 16; at < count; at++) numbers[at] = share(words()); // the last ones anew
  toNormal(numbers, count - 16, by);
  return numbers;
}

/**
 * All weights by their names.
 * @param {Draws} draws
 * @returns {Record<string, {shape: number[], data: Float32Array}>}
 */
export function weightsOf({ seed, shapes, same, steps }) {
  const words = twister(seed);
  const all = Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { shape, data: new Float32Array(shape.reduce((product, side) => product * side, 1)) }]));
  for (const [name, value] of Object.entries(same)) all[name].data.fill(value);
  for (const { skip = 0, name, way, by, factor = 1 } of steps) {
    for (let at = 0; at < skip; at++) words();
    if (name && way && by) all[name].data = drawn(words, all[name].data.length, way, by).map((one) => one * factor);
  }
  return all;
}
