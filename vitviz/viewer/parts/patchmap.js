/** A map of all patches in the shape of the picture, on which patches are pointed at and marked. */

import { mapCanvas } from "./canvas.js";
import { el, show } from "./dom.js";
import { mapRatio, placeOf, tokenAt } from "../maths/geometry.js";

/**
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {Pick<ReturnType<typeof mapCanvas>, "draw"|"drawColours"|"clear"> & {frame: HTMLElement,
 *   tokenOf: (event: MouseEvent) => number|null, mark: (token: number) => void,
 *   put: (node: HTMLElement, token: number) => void}}
 *   mark: marks the selected patch; put: lays a node over a patch, and hides it for a prefix token
 */
export function createPatchMap(grid) {
  const { canvas, draw, drawColours, clear } = mapCanvas(grid.rows, grid.cols, "vv-large-map");
  canvas.style.aspectRatio = String(mapRatio(grid));
  const selected = el("span", { class: "vv-box vv-selected" });
  const frame = el("div", { class: "vv-map-frame" }, canvas, selected);
  const whole = { ...grid, width: grid.cols * grid.patchWidth, height: grid.rows * grid.patchHeight };
  const put = (node, token) => {
    const place = placeOf(token, grid);
    show(node, place !== null);
    if (place)
      Object.assign(node.style, {
        left: (100 * place.col) / grid.cols + "%",
        top: (100 * place.row) / grid.rows + "%",
        width: 100 / grid.cols + "%",
        height: 100 / grid.rows + "%",
      });
  };
  return {
    frame,
    draw,
    drawColours,
    clear,
    put,
    mark: (token) => put(selected, token),
    tokenOf(event) {
      const box = canvas.getBoundingClientRect();
      return tokenAt(event.clientX - box.left, event.clientY - box.top, box, whole);
    },
  };
}
