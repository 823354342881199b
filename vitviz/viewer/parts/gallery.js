/** Small maps side by side, in rows of about equal length if there is room. */

import { el } from "./dom.js";
import { mapRatio } from "../maths/geometry.js";

/**
 * @param {{grid: import("../maths/geometry.js").Grid, label: string, maps: HTMLElement[], most: number,
 *   least: string}} props
 *   most: maps in a row; least: their least width; a narrow page has shorter rows to keep it
 * @returns {HTMLElement}
 */
export function createGallery({ grid, label, maps, most, least }) {
  const root = el("div", { class: "vv-gallery", role: "group", "aria-label": label }, ...maps);
  root.style.setProperty("--vv-ratio", String(mapRatio(grid)));
  root.style.setProperty("--vv-columns", String(columnsOf(maps.length, most)));
  root.style.setProperty("--vv-cell", least);
  return root;
}

/**
 * A map of a gallery, which can be pressed. `spoken` says what it shows; beneath are its name, and what
 * follows in `line`.
 * @param {{name: string, spoken: HTMLElement, map: HTMLElement[], onClick: () => void}} props
 * @param {...HTMLElement} line
 * @returns {HTMLButtonElement}
 */
export function createMapButton({ name, spoken, map, onClick }, ...line) {
  return el(
    "button",
    { type: "button", class: "vv-head", "aria-pressed": "false", onclick: onClick },
    spoken,
    ...map,
    el(
      "span",
      { class: "vv-head-line" },
      el("span", { class: "vv-head-name", "aria-hidden": "true", text: name }),
      ...line,
    ),
  );
}

/**
 * The length of the rows that leaves the fewest gaps in the last row, with as few rows as possible.
 * @param {number} count
 * @param {number} most
 * @returns {number}
 */
export function columnsOf(count, most) {
  return Math.ceil(count / Math.ceil(count / most));
}
