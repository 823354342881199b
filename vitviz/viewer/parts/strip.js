/** A vector as a strip of colours after its name, with one of its numbers marked. */

import { mapCanvas } from "./canvas.js";
import { largestSize } from "../maths/colour.js";
import { el, show } from "./dom.js";
import { hover } from "./pointing.js";

/**
 * @param {number} count
 * @param {string|Node[]} name
 * @param {(at: number|null) => void} onPoint  the index of the number under the pointer, or null
 * @returns {{root: HTMLElement, draw: (values: ArrayLike<number>, table: Uint32Array,
 *   reach?: number) => void, mark: (at: number|null) => void}}
 *   reach: the absolute value with the full colour, by default the largest
 */
export function createStrip(count, name, onPoint, kind = "") {
  const map = mapCanvas(1, count, "vv-strip");
  const marker = el("span", { class: "vv-marker", hidden: true });
  const bar = el("div", { class: "vv-strip-bar" }, map.canvas, marker);
  const atOf = (event) => {
    const box = bar.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * count);
    return at >= 0 && at < count ? at : null;
  };
  hover(
    bar,
    (event) => onPoint(atOf(event)),
    () => onPoint(null),
  );
  return {
    root: el(
      "div",
      { class: ("vv-named-strip " + kind).trim() },
      el("span", { class: "vv-strip-name" }, ...[name].flat()),
      bar,
    ),
    draw(values, table, reach = largestSize(values)) {
      map.draw(values, 0, { min: -reach, max: reach }, table);
    },
    mark(at) {
      show(marker, at !== null);
      if (at !== null) marker.style.left = (100 * (at + 0.5)) / count + "%";
    },
  };
}
