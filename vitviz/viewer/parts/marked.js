/** Marked: a small picture as the model saw it, with boxes on some of its patches. */

import { percentBox } from "../maths/geometry.js";
import { pixelCanvas } from "./canvas.js";
import { el } from "./dom.js";

/**
 * @param {import("../data/source.js").Source} source
 * @param {string} kind  its class
 * @param {{token: number, style?: any, [prop: string]: any}[]} boxes  with what `el` takes
 */
export function createMarked(
  {
    picture,
    grid,
    manifest: {
      model: {
        image: { height, width },
      },
    },
  },
  kind,
  boxes,
) {
  const { canvas, draw } = pixelCanvas(height, width, "");
  draw(picture.get()?.rgba);
  const root = el(
    "div",
    { class: kind },
    canvas,
    ...boxes.map(({ token, style = {}, ...props }) => {
      const box = el("span", props);
      Object.assign(box.style, percentBox(token, grid), style);
      return box;
    }),
  );
  root.style.aspectRatio = width + " / " + height;
  return root;
}
