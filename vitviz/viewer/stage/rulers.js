/** Rulers: the numbers of rows and columns along two edges of the picture. */

import { el, setText, show } from "../parts/dom.js";
import { counted } from "../text/words.js";

/** More numbers than these would touch each other. */
const MOST = 16;

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createRulers(app) {
  const { grid } = app.source;
  const along = (count, size, whole, edge) => {
    const step = Math.ceil(count / MOST);
    return Array.from({ length: Math.ceil(count / step) }, (_, at) => {
      const node = el("span", { class: "vv-ruler-" + edge });
      node.style[edge === "top" ? "left" : "top"] = (100 * (at * step + 0.5) * size) / whole + "%";
      return { node, at: at * step };
    });
  };
  const cols = along(grid.cols, grid.patchWidth, grid.width, "top");
  const rows = along(grid.rows, grid.patchHeight, grid.height, "left");
  const root = el(
    "div",
    { class: "vv-rulers", "aria-hidden": "true" },
    ...[...cols, ...rows].map(({ node }) => node),
  );
  return {
    root,
    render() {
      show(root, app.taste.rulers || app.taste.projector);
      for (const { node, at } of cols) setText(node, String(counted({ row: 0, col: at }, app).col));
      for (const { node, at } of rows) setText(node, String(counted({ row: at, col: 0 }, app).row));
    },
  };
}
