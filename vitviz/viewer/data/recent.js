/** A cache of the most recently used items, for values that are too large to keep all. */

/** @template K, V @extends {Map<K, V>} */
export class Recent extends Map {
  /** @param {number} most  largest number of items; beyond it the least recently used one is dropped */
  constructor(most) {
    super();
    this.most = most;
  }

  get(key) {
    const value = super.get(key);
    if (super.delete(key)) super.set(key, value);
    return value;
  }

  set(key, value) {
    super.delete(key);
    super.set(key, value);
    if (this.size > this.most) this.delete(this.keys().next().value);
    return this;
  }
}
