/**
 * New photo: the selection with which another photo begins. It shows the map of the answer until the visitor
 * has chosen where to look. No document in here.
 */

import { givenBack, panelOf } from "./panels.js";
import { carried, startSelection, validSelection } from "./state.js";

/** The fields that say where one looks. */
const LOOKS = ["token", "pinned", "layer", "head", "direction"];

/**
 * The analysis that was shown last. `photo`: its key; `began`: its automatic first selection, null where a
 * link has chosen.
 * @typedef {{grid: import("../maths/geometry.js").Grid, photo: string, began: any}} Seen
 * @typedef {import("./state.js").Selection} Selection
 * @typedef {import("./state.js").Shape} Shape
 */

/**
 * Whether a visitor has chosen where to look, and not only opened panels.
 * @param {Selection} selection
 * @param {Selection|null} began
 * @param {Pick<Shape, "grid"|"panels">} shape
 */
export function hasChosen(selection, began, { grid, panels }) {
  const panel = panelOf(panels, selection.panel);
  const own = panel ? { ...selection, ...givenBack(panel, selection, grid) } : selection;
  return began === null || LOOKS.some((field) => own[field] !== began[field]);
}

/**
 * A selection that looks where another photo begins; everything else stays, also what its panel has borrowed.
 * @param {any} selection
 * @param {Selection} begins
 */
export function begunAnew(selection, begins) {
  const [lent, own] = [true, false].map((borrowed) =>
    Object.fromEntries(
      LOOKS.filter((field) => Object.hasOwn(selection.lent, field) === borrowed).map((field) => [
        field,
        begins[field],
      ]),
    ),
  );
  return { ...selection, ...own, lent: { ...selection.lent, ...lent } };
}

/**
 * The selection for an analysis that arrives, before its link is read. It begins where its host proposes,
 * else at CLS in the last layer: of all files that come first, the answer was read from these.
 * @param {Selection|null} selection  as it was before
 * @param {Seen|null} seen
 * @param {{manifest: import("../types.js").Manifest, grid: import("../maths/geometry.js").Grid}} source
 * @param {any} linked  fields of a link
 * @param {Shape} shape
 * @param {{chosen: boolean}|null} [back]  where the visitor comes back to an analysis: it goes on as it was
 * @returns {{stays: Selection, anew: boolean, next: (selection: Selection) => Seen}}  next: what was shown
 *   last, then
 */
export function arriving(selection, seen, { manifest, grid }, linked, shape, back = null) {
  const start = startSelection(shape);
  const chosen = back
    ? back.chosen
    : selection && seen
      ? hasChosen(selection, seen.began, { grid: seen.grid, panels: shape.panels })
      : [...LOOKS, "lesson"].some((name) => Object.hasOwn(linked ?? {}, name));
  const photo = manifest.upload?.address ?? manifest.link?.example ?? manifest.photo.name;
  const anew = !back && !chosen && photo !== seen?.photo;
  const begins = validSelection(anew ? manifest.start : null, start, shape);
  const before = selection && seen && carried(selection, seen.grid, grid);
  return {
    stays: validSelection(before && anew ? begunAnew(before, begins) : before, begins, shape),
    anew,
    next: (shown) => ({
      grid,
      photo,
      began: chosen ? (back ? null : (seen?.began ?? null)) : { ...shown, ...shown.lent },
    }),
  };
}
