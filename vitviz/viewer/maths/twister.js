/**
 * Twister: the random numbers of torch on a CPU, so that a seed gives the same weights and the same order of
 * pictures as in Python. It is the Mersenne Twister (Matsumoto and Nishimura 1998, MT19937).
 */

const [WORDS, AHEAD] = [624, 397];

export class Twister {
  #state = new Uint32Array(WORDS);
  #next = WORDS;

  /** @param {number} seed  a whole number from 0 on, of which torch takes the lower 32 bits */
  constructor(seed) {
    this.#state[0] = seed % 2 ** 32;
    for (let at = 1; at < WORDS; at++) {
      const before = this.#state[at - 1];
      this.#state[at] = Math.imul(before ^ (before >>> 30), 1812433253) + at;
    }
  }

  #renew() {
    const state = this.#state;
    for (let at = 0; at < WORDS; at++) {
      const both = (state[at] & 0x80000000) | (state[(at + 1) % WORDS] & 0x7fffffff);
      state[at] = state[(at + AHEAD) % WORDS] ^ (both >>> 1) ^ (both & 1 ? 0x9908b0df : 0);
    }
    this.#next = 0;
  }

  /** The next word, from 0 to 2 ** 32 - 1. */
  word() {
    if (this.#next === WORDS) this.#renew();
    let word = this.#state[this.#next++];
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  }

  /** Skip so many words. @param {number} count */
  skip(count) {
    for (let at = 0; at < count; at++) this.word();
  }

  /** The next number from 0 to below 1, with 24 bits. */
  #share() {
    return (this.word() & 0xffffff) / 2 ** 24;
  }

  /** The numbers of `Tensor.uniform_`. @param {number} count @param {number} least @param {number} most */
  uniforms(count, least, most) {
    const [from, width] = [Math.fround(least), Math.fround(Math.fround(most) - Math.fround(least))];
    return Float32Array.from({ length: count }, () => Math.fround(this.#share() * width) + from);
  }

  /**
   * The numbers of `Tensor.normal_`: Box-Muller, eight pairs at a time.
   * @param {number} count  16 or more
   * @param {number} deviation
   * @param {number} [mean]
   */
  normals(count, deviation, mean = 0) {
    if (count < 16) throw new RangeError("fewer than 16 numbers are drawn in another way");
    const shares = Float64Array.from({ length: count }, () => this.#share());
    const made = new Float32Array(count);
    const sixteen = (first) => {
      for (let at = first; at < first + 8; at++) {
        const [radius, angle] = [Math.sqrt(-2 * Math.log(1 - shares[at])), 2 * Math.PI * shares[at + 8]];
        made[at] = radius * Math.cos(angle) * deviation + mean;
        made[at + 8] = radius * Math.sin(angle) * deviation + mean;
      }
    };
    for (let first = 0; first + 16 <= count; first += 16) sixteen(first);
    if (count % 16) {
      // torch draws the last sixteen again
      for (let at = count - 16; at < count; at++) shares[at] = this.#share();
      sixteen(count - 16);
    }
    return made;
  }

  /** The numbers below n in the order of `torch.randperm`. @param {number} n */
  permutation(n) {
    const order = new Uint32Array(n).map((_, place) => place);
    for (let place = 0; place < n - 1; place++) {
      const other = place + (this.word() % (n - place));
      const moved = order[place];
      order[place] = order[other];
      order[other] = moved;
    }
    return order;
  }
}
