/** Taste: settings of how things are drawn. Undo does not change them; the browser remembers them. */

import { COLOUR_MAPS, SPOTLIGHT } from "../maths/colour.js";
import { fieldsOf, oneOf, startOf } from "./panels.js";

const share = { start: 0.65, possible: (value) => typeof value === "number" && value >= 0 && value <= 1 };
const flag = (start) => ({ start, possible: (value) => typeof value === "boolean" });

/** The picture under the spotlight: the photo in its own resolution, or the pixels that the model saw. */
export const SIGHTS = ["photograph", "model"];

/** @type {Record<string, import("./panels.js").Field>} */
const COMMON = {
  colours: oneOf([SPOTLIGHT, ...COLOUR_MAPS]),
  sight: oneOf(SIGHTS),
  scale: oneOf(["map", "heads"]),
  smooth: flag(false),
  opacity: share,
  grid: flag(true),
  rulers: flag(false),
  fromOne: flag(false),
  projector: flag(false),
  all: flag(false), // the page begins with all panels, and not with the first look
  // The names of the folds that are open.
  opened: { start: "", possible: (value) => typeof value === "string" && /^[a-z ]{0,200}$/.test(value) },
};

const fields = (panels) => ({ ...COMMON, ...fieldsOf(panels, "prefers") });

/**
 * @param {import("./panels.js").PanelDescription[]} panels
 * @returns {import("../types.js").Taste}
 */
export function startTaste(panels) {
  return /** @type {any} */ (startOf(fields(panels)));
}

/**
 * A taste in which every field is valid: where `wanted` is invalid, `base` stays.
 * @param {any} wanted
 * @param {import("../types.js").Taste} base
 * @param {import("./panels.js").PanelDescription[]} panels
 * @returns {import("../types.js").Taste}
 */
export function validTaste(wanted, base, panels) {
  const taste = { ...base };
  for (const [name, { possible }] of Object.entries(fields(panels))) {
    if (possible(wanted?.[name])) taste[name] = wanted[name];
  }
  return taste;
}
