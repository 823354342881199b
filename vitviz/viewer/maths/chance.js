/**
 * Chance: random numbers from a seed, for everything that a link must reproduce.
 * vitviz/probe/intervene/chance.py has and describes the same functions; tests hold both to one table.
 */

/** Uses of random numbers, in the order of Python: the index of a use is half of the key. */
export const USES = [
  "shuffle",
  "positions",
  "scramble",
  "noise",
  "orders",
  "random map",
  "hidden patches",
  "signs",
];
const WORDS = 2 ** 32;

/** The upper half of the 64 bits of a * b; the parts stay below 2 ** 53. */
const high = (a, b) => Math.floor((a * (b >>> 16) + Math.floor((a * (b & 0xffff)) / 2 ** 16)) / 2 ** 16);

/**
 * Four random words for a counter: Philox4x32-10.
 * @param {number[]} counter  four words
 * @param {number[]} key  two words
 * @returns {number[]}
 */
export function philox([c0, c1, c2, c3], [k0, k1]) {
  for (let round = 0; round < 10; round++) {
    const [left, right] = [c0, c2];
    c0 = (high(right, 0xcd9e8d57) ^ c1 ^ k0) >>> 0;
    c1 = Math.imul(right, 0xcd9e8d57) >>> 0;
    c2 = (high(left, 0xd2511f53) ^ c3 ^ k1) >>> 0;
    c3 = Math.imul(left, 0xd2511f53) >>> 0;
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** Whether a word must be drawn again: with it small remainders would be likelier. */
const isLate = (word, bound) => word >= WORDS - (WORDS % bound);

/** The random numbers for one use and one seed; every call continues after the last. */
export class Chance {
  #key;
  #drawn = 0;

  /**
   * @param {number} seed  a whole number from 0 to 2 ** 32 - 1
   * @param {string} use  one of USES
   */
  constructor(seed, use) {
    this.#key = [seed, USES.indexOf(use)];
    if (seed !== seed >>> 0 || this.#key[1] < 0)
      throw new RangeError("no chance for " + use + " with seed " + seed);
  }

  /** The next words. @param {number} count */
  integers(count) {
    const words = new Uint32Array(count);
    /** @type {number[]} */
    let block = [];
    for (let at = 0; at < count; at++, this.#drawn++) {
      const place = this.#drawn % 4;
      if (at === 0 || place === 0) block = philox([(this.#drawn - place) / 4, 0, 0, 0], this.#key);
      words[at] = block[place];
    }
    return words;
  }

  /**
   * A whole number from 0 to bound - 1 for each bound, all equally likely.
   * @param {ArrayLike<number>} bounds
   */
  below(bounds) {
    const words = this.integers(bounds.length);
    let late = [];
    for (let at = 0; at < words.length; at++) if (isLate(words[at], bounds[at])) late.push(at);
    while (late.length > 0) {
      const again = this.integers(late.length);
      late.forEach((at, place) => {
        words[at] = again[place];
      });
      late = late.filter((at) => isLate(words[at], bounds[at]));
    }
    for (let at = 0; at < words.length; at++) words[at] %= bounds[at];
    return words;
  }

  /** The numbers below n in random order. @param {number} n */
  permutation(n) {
    const order = new Uint32Array(n).map((_, place) => place);
    const others = this.below(order.subarray(1).map((place) => n + 1 - place));
    for (let place = n - 1; place > 0; place--) {
      const other = others[n - 1 - place];
      const moved = order[place];
      order[place] = order[other];
      order[other] = moved;
    }
    return order;
  }

  /** Numbers from 0 to below 1. @param {number} count */
  uniforms(count) {
    return new Float64Array(this.integers(count)).map((word) => word / WORDS);
  }

  /** Numbers with mean 0 and variance 1, normally distributed. @param {number} count */
  normals(count) {
    const words = this.integers(count + (count % 2));
    return new Float64Array(count).map((_, at) => {
      const [radius, angle] = [
        Math.sqrt(-2 * Math.log((words[at - (at % 2)] + 1) / WORDS)),
        2 * Math.PI * (words[at - (at % 2) + 1] / WORDS),
      ];
      return radius * (at % 2 ? Math.sin(angle) : Math.cos(angle));
    });
  }
}
