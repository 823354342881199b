/** Own kept: a visitor's own things in the browser, so that a reload of the tab does not lose them. */

import { Database, random } from "../data/database.js";

const KIND = "own";
const LARGEST = 1_000_000; // bytes of a photo that is kept beside what the model sees of it

/**
 * @param {import("./ownset.js").OwnSet} set
 * @param {{height: number, width: number, channels: number}} image  of the trunk
 */
export function createKept(set, image) {
  const database = new Database();
  let [id, writing, again] = [KIND + "-" + random(), false, false];
  const sees = [image.height, image.width, image.channels].join("x");
  return {
    /** Brings back what was kept, unless something was added meanwhile or another model saw it. */
    async restore() {
      let kept = /** @type {any} */ (null);
      await database.read((one) => {
        if (one.kind === KIND) kept = one;
      });
      if (!kept) return;
      id = kept.id;
      if (kept.sees === sees && set.count === 0) set.restore(kept.things, kept.card);
    },
    touch,
  };

  /** Keeps the set as it is now, or once the last write has ended; an empty one is forgotten. */
  async function touch() {
    again = true;
    if (writing) return;
    writing = true;
    try {
      while (again) {
        again = false;
        await (set.isEmpty ? database.delete(id) : put());
      }
    } finally {
      writing = false; // a write that failed keeps no later one from being tried
    }
  }

  function put() {
    const things = set.things.map(({ name, none, pictures }) => ({
      name,
      none,
      pictures: pictures.map(({ group, pixels, file }) => ({
        group,
        pixels,
        file: file && file.size <= LARGEST ? file : null,
      })),
    }));
    return database.put(/** @type {any} */ ({ id, kind: KIND, sees, things, card: { ...set.card } }));
  }
}
