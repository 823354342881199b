/** Own kept: a visitor's own things in the browser, so that a reload of the tab does not lose them. */

import { Database, oneAfterTheOther, random } from "../data/database.js";

const KIND = "own";
const LARGEST = 1_000_000; // bytes of a photo that is kept beside what the model sees of it

/**
 * @param {import("./ownset.js").OwnSet} set
 * @param {{height: number, width: number, channels: number}} image  of the trunk
 */
export function createKept(set, image) {
  const database = new Database();
  let id = KIND + "-" + random();
  const sees = [image.height, image.width, image.channels].join("x");
  const words = KIND + "-" + sees;
  const keys = /** @type {WeakMap<object, string>} */ (new WeakMap());
  const write = oneAfterTheOther(() => (set.isEmpty ? database.delete(id) : put()));
  return {
    /** Brings back what was kept, unless something was added meanwhile. Pictures of another size stay kept for it. */
    async restore() {
      let pictured = /** @type {any} */ (null);
      await database.read((one) => {
        if (one.kind === KIND && one.sees === sees) pictured = one;
      });
      if (pictured) id = pictured.id;
      const kept = latest(pictured, database.words(words));
      if (!kept || set.count > 0) return;
      set.restore(kept.things, kept.card);
      kept.things.forEach(({ key }, at) => keys.set(set.things[at], key));
      if (set.isEmpty) await write(); // it was forgotten, and the page went before that was stored
    },
    /** Keeps the words now, and the pictures once the last write has ended; an empty set is forgotten. */
    touch() {
      const things = set.isEmpty ? [] : set.things.map(wordsOf);
      database.putWords(words, { things, card: set.card });
      return write();
    },
  };

  /** key: by it a thing is found again, whatever its name. @param {import("./ownset.js").Thing} thing */
  function wordsOf(thing) {
    const key = keys.get(thing) ?? random();
    keys.set(thing, key);
    return { key, name: thing.name, none: thing.none };
  }

  /** Stores all; where the browser has no room for the photos, at least what the model sees of them. */
  async function put() {
    if (!(await stored(LARGEST))) await stored(0);
  }

  /** @param {number} largest  bytes of a photo that is stored with its pixels @returns {Promise<boolean>} */
  function stored(largest) {
    const things = set.things.map((thing) => ({
      ...wordsOf(thing),
      pictures: thing.pictures.map(({ group, pixels, file }) => ({
        group,
        pixels,
        file: file && file.size <= largest ? file : null,
      })),
    }));
    return database.put(/** @type {any} */ ({ id, kind: KIND, sees, things, card: { ...set.card } }));
  }
}

/**
 * The newest state: words are stored before pictures, so the things are those of `words`, each with the
 * pictures that are stored for it.
 */
function latest(pictured, words) {
  if (!Array.isArray(words?.things)) return pictured; // another version may have stored something else
  const stored = pictured?.things ?? [];
  const picturesOf = (key) => stored.find((thing) => thing.key === key)?.pictures ?? [];
  return { ...words, things: words.things.map((thing) => ({ ...thing, pictures: picturesOf(thing.key) })) };
}
