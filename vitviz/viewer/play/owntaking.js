/** Own taking: pictures for a visitor's things, from files, the camera, and the page. */

import { decoded } from "../data/decoding.js";
import { MOST_PICTURES } from "./ownset.js";

/**
 * @param {{trunk: import("./ownmodel.js").Trunk, set: import("./ownset.js").OwnSet,
 *   model: ReturnType<typeof import("./ownmodel.js").createOwnModel>,
 *   live: ReturnType<typeof import("./ownlive.js").createOwnLive>, picture: import("./own.js").Around["picture"],
 *   nameOf: (thing: import("./ownset.js").Thing) => string,
 *   say: import("./texts.js").Say, language: () => string, hear: (text: string) => void,
 *   change: (task: () => void) => void}} of
 *   hear: a sentence for the visitor; change: does something to the set, from which is learned anew
 */
export function createTaking({ trunk, set, model, live, picture, nameOf, say, language, hear, change }) {
  let busy = false;
  return { files, shoot, screen, tryFile };

  /** @param {import("./ownset.js").Thing} thing @param {File[]} all */
  async function files(thing, all) {
    /** @type {Record<string, string[]>} what is said of those that cannot be taken, by what keeps them out */
    const reasons = { unseen: [], elsewhere: [], full: [] };
    for (const [at, file] of all.entries()) {
      if (set.room === 0) {
        reasons.full.push(full(all.length - at));
        break;
      }
      const pixels = await see(file, file.name);
      if (typeof pixels === "string") reasons.unseen.push(pixels);
      else reasons.elsewhere.push(...put(thing, { group: set.group(), pixels, file }, all));
    }
    const told = Object.values(reasons).flatMap(([first, ...more]) => [
      ...(first ? [first] : []),
      ...(more.length > 0 ? [say("ownRefusedMore", { count: more.length })] : []),
    ]);
    if (told.length > 0) hear(told.join(" "));
  }

  /** Keeps what the camera sees, unless one is on its way. @param {number} group */
  async function shoot(thing, group) {
    if (busy) return;
    busy = true;
    try {
      const file = await live.take();
      const pixels = file && (await see(file, "camera.jpg"));
      if (pixels && typeof pixels !== "string") tell(put(thing, { group, pixels, file }));
    } finally {
      busy = false;
    }
  }

  /** Keeps what the page shows. */
  async function screen(thing) {
    const shown = await picture(trunk);
    if (shown) tell(put(thing, { group: set.group(), ...shown }));
    else hear(say("ownNoScreen"));
  }

  /** Answers a picture, and does not learn it. @param {File} file */
  async function tryFile(file) {
    const pixels = await see(file, file.name);
    if (typeof pixels === "string") hear(pixels);
    else live.try({ pixels, file });
  }

  /** Adds a picture of a batch. Returns the reason if it is refused, else no sentence. @returns {string[]} */
  function put(thing, one, batch = one.group) {
    const other = set.elsewhere(thing, one.pixels);
    if (other) return [say("ownElsewhere", { name: nameOf(other) })];
    if (set.room === 0) return [full(1)];
    change(() => set.add(thing, one, batch));
    return [];
  }

  /** @param {string[]} reasons */
  function tell(reasons) {
    reasons.forEach(hear);
  }

  /** @param {number} count  of pictures without room */
  function full(count) {
    return say("ownFull", { most: MOST_PICTURES, count });
  }

  /** The pixels of a photo; or the reason why it is none. @param {Blob} file @param {string} name */
  async function see(file, name) {
    try {
      const photo = await decoded(file, name);
      if (photo) return await model.see(photo.bitmap);
      return told({ key: "many_host", values: { name } });
    } catch (error) {
      if (!error.told) throw error;
      return told(error.told);
    }
  }

  /** @returns {string} */
  function told(reason) {
    return trunk.tools.said(reason, true)[language()];
  }
}
