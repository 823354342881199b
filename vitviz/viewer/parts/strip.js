/** A vector as a strip of colours, with one of its numbers marked. */

import { mapCanvas } from "./canvas.js";
import { largest } from "../maths/colour.js";
import { el, show } from "./dom.js";

/**
 * @param {number} count
 * @param {(at: number|null) => void} onPoint  the index of the number under the pointer, or null
 * @returns {{root: HTMLElement, draw: (values: ArrayLike<number>, table: Uint32Array,
 *   reach?: number) => void, mark: (at: number|null) => void}}
 *   reach: the absolute value with the full colour, by default the largest
 */
export function createStrip(count, onPoint) {
  const map = mapCanvas(1, count, "vv-strip");
  const marker = el("span", { class: "vv-marker", hidden: true });
  const root = el("div", { class: "vv-strip-bar" }, map.canvas, marker);
  const atOf = (event) => {
    const box = root.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * count);
    return at >= 0 && at < count ? at : null;
  };
  for (const kind of ["pointerdown", "pointermove"]) {
    root.addEventListener(kind, (event) => onPoint(atOf(event)));
  }
  // The number that a finger has reached stays when it is lifted: a finger cannot hover.
  root.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") onPoint(null);
  });
  return {
    root,
    draw(values, table, reach = largestSize(values)) {
      map.draw(values, 0, { min: -reach, max: reach }, table);
    },
    mark(at) {
      show(marker, at !== null);
      if (at !== null) marker.style.left = (100 * (at + 0.5)) / count + "%";
    },
  };
}

/** A strip with a name before it: a text, or nodes. @param {number} count @param {string|Node[]} name @param {(at: number|null) => void} onPoint */
export function createNamedStrip(count, name, onPoint, kind = "") {
  const strip = createStrip(count, onPoint);
  return { ...strip, root: el("div", { class: ("vv-named-strip " + kind).trim() }, el("span", { class: "vv-strip-name" }, ...[name].flat()), strip.root) };
}

/** The largest absolute value. */
export function largestSize(values) {
  return largest(Array.from(values, Math.abs), 0, values.length, 1e-9);
}
