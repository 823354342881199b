/** Creates SVG elements, and the icons of buttons. */

/**
 * @param {string} tag
 * @param {any} props  attributes; `text` and listeners as in `el`
 * @param {...(Node|null)} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined) continue;
    if (name === "text") node.textContent = value;
    else if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter(Boolean));
  return node;
}

// Shapes in a square of 24. Fonts of some systems lack the signs for these, or colour them.
const ICONS = {
  play: "M7 4 20 12 7 20Z",
  pause: "M6 4H10V20H6ZM14 4H18V20H14Z",
  next: "M4 4 14 12 4 20ZM16 4H20V20H16Z",
};

/** @param {"play"|"pause"|"next"} name */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", class: "vv-sign", "data-icon": name, "aria-hidden": "true" },
    svg("path", { d: ICONS[name], fill: "currentColor" }));
}
