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
    /** Keeps the set as it is now, or once the last write has ended; an empty one is forgotten. */
    touch: oneAfterTheOther(() => (set.isEmpty ? database.delete(id) : put())),
  };

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
