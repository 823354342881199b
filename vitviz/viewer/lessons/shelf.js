/** The shelf: the lesson that an address or a page brought, and the one that is collected on this device. */

import { Misfit, checkedLesson, emptyLesson, lessonOfAddress, played } from "./own.js";

/** @typedef {ReturnType<typeof createShelf>} Shelf */

/**
 * @param {{recall: () => any, keep: (lesson: any) => void}} notebook  of the device
 * @param {() => string|null} href  of the page; null if it has no address
 * @param {any} fixed  the lesson of a page that was made for it, else null
 */
export function createShelf(notebook, href, fixed) {
  /** @type {Misfit|null} */
  let refused = null;
  const brought = tried(
    () => (fixed ? checkedLesson(fixed) : href() && lessonOfAddress(href())),
    (error) => {
      refused = error;
    },
  );
  // A draft stored by another version may not fit; then an empty one begins.
  let draft =
    tried(
      () => checkedLesson(notebook.recall()),
      () => {},
    ) ?? emptyLesson();
  let before = /** @type {import("./own.js").OwnLesson|null} */ (null);
  return {
    /** The collected lesson. */
    draft: () => draft,
    /** The lesson that came with the page, null if none did. */
    brought: () => brought,
    /** Why the lesson of the address cannot be played. */
    refused: () => refused,
    /** The collected lesson as it was before it was last changed as a whole; null if it was not. */
    before: () => before,
    /** @param {import("./own.js").OwnLesson} lesson @param {boolean} [whole]  the former one can come back */
    put(lesson, whole = false) {
      if (whole) before = draft;
      draft = lesson;
      notebook.keep(lesson);
    },
    /** The own lesson to play: the one that was brought, else the collected one; null if there is neither. */
    played: () => played(brought ?? draft),
  };
}

function tried(read, onMisfit) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    onMisfit(error);
    return null;
  }
}
