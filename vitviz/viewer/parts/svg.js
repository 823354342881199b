/** Creates SVG elements, and the icons of buttons. */

import { dress } from "./dom.js";

/**
 * @param {string} tag
 * @param {any} props  as in `el`
 * @param {...(Node|null)} children
 * @returns {SVGElement}
 */
export const svg = (tag, props = {}, ...children) =>
  dress(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

// Shapes in a square of 24. Fonts of some systems lack the signs for these, or colour them.
const ICONS = {
  play: "M7 4 20 12 7 20Z",
  pause: "M6 4H10V20H6ZM14 4H18V20H14Z",
  next: "M4 4 14 12 4 20ZM16 4H20V20H16Z",
};

/** @param {"play"|"pause"|"next"} name */
export function icon(name) {
  return svg(
    "svg",
    { viewBox: "0 0 24 24", class: "vv-sign", "data-icon": name, "aria-hidden": "true" },
    svg("path", { d: ICONS[name], fill: "currentColor" }),
  );
}
