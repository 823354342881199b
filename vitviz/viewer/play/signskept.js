/** Kept signs: the signs that a visitor has drawn, kept in the storage of this tab. */

import {
  FEWEST_KINDS,
  MOST_BYTES,
  MOST_DRAWINGS,
  MOST_KINDS,
  SignsError,
  WANTED,
  fileOf,
  joined,
  nameIn,
  readFile,
} from "./signs.js";

const KEPT = "vitviz-signs"; // in the storage of this tab
const NAMES = ["A", "B", "C", "D"];

/** @typedef {import("./signs.js").Kind} Kind @typedef {ReturnType<typeof createKeptSigns>} KeptSigns */

/** The kinds that this tab keeps over a reload; two empty ones at first. @returns {Kind[]} */
function recalled() {
  try {
    return filled(readFile(sessionStorage.getItem(KEPT) ?? ""));
  } catch {
    return filled([]);
  }
}

/** Adds empty kinds until there are enough. @param {Kind[]} kinds */
function filled(kinds) {
  while (kinds.length < FEWEST_KINDS) kinds.push(another(kinds));
  return kinds;
}

/** @param {Kind[]} kinds @returns {Kind} */
const another = (kinds) => ({
  name: NAMES.find((name) => kinds.every((kind) => kind.name !== name)) ?? NAMES[0],
  drawings: [],
});

/**
 * `changed` is called after every change; an impossible change throws a SignsError.
 * @param {() => void} changed
 */
export function createKeptSigns(changed) {
  let [kinds, at] = [recalled(), 0];
  let undo = /** @type {(() => void)|null} */ (null); // takes the last removal back
  return {
    all: () => kinds,
    chosen: () => kinds[at],
    /** @param {Kind} kind */
    choose(kind) {
      at = kinds.indexOf(kind);
      changed();
    },
    /**
     * Adds a drawing to the chosen kind; once that has enough, chooses the next kind that needs more.
     * @param {import("./signs.js").Drawing} drawing
     */
    add(drawing) {
      const { drawings } = kinds[at];
      checkRoom(kinds[at]);
      drawings.push(drawing);
      const next = kinds.findIndex((kind) => kind.drawings.length < WANTED);
      if (drawings.length === WANTED && next >= 0) at = next;
      keep();
    },
    /** @param {Kind} kind @param {number} index  its drawing */
    drop(kind, index) {
      const [drawing] = kind.drawings.splice(index, 1);
      undo = () => {
        checkRoom(kind);
        kind.drawings.splice(index, 0, drawing);
      };
      keep();
    },
    more() {
      if (kinds.length >= MOST_KINDS) return;
      at = kinds.push(another(kinds)) - 1;
      keep();
    },
    /** @param {Kind} kind */
    remove(kind) {
      const place = kinds.indexOf(kind);
      undo = () => {
        if (kinds.length >= MOST_KINDS) throw new SignsError("signsTooManyKinds", { most: MOST_KINDS });
        checkName(kind.name, kind);
        kinds.splice(place, 0, kind);
        at = place;
      };
      const chosen = kinds[at];
      kinds = filled(kinds.filter((other) => other !== kind));
      at = kinds.includes(chosen) ? kinds.indexOf(chosen) : Math.min(at, kinds.length - 1);
      keep();
    },
    /** @param {Kind} kind @param {string} wanted */
    rename(kind, wanted) {
      const name = nameIn(wanted);
      checkName(name, kind);
      kind.name = name;
      keep();
    },
    /** Adds the drawings of a file. @param {File} file */
    async load(file) {
      if (file.size > MOST_BYTES) throw new SignsError("signsLong", { most: MOST_BYTES >> 20 });
      const text = await file.text(); // another file may be added meanwhile
      [kinds, at] = [filled(joined(kinds, readFile(text))), 0];
      undo = null; // it is about kinds that were put together
      keep();
    },
    canUndo: () => undo !== null,
    /** Takes the last removal back. Where it cannot be, it stays the next one to take back. */
    undo() {
      undo?.();
      undo = null;
      keep();
    },
  };

  function checkRoom({ name, drawings }) {
    if (drawings.length >= MOST_DRAWINGS) throw new SignsError("signsMany", { name, most: MOST_DRAWINGS });
  }

  function checkName(name, kind) {
    if (kinds.some((other) => other !== kind && other.name === name))
      throw new SignsError("signsTwice", { name });
  }

  function keep() {
    try {
      sessionStorage.setItem(KEPT, fileOf(kinds));
    } catch {
      // Storage is refused or full: a reload forgets the drawings.
    }
    changed();
  }
}
