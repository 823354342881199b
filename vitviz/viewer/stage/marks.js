/** Marks on removed and changed patches, and on those under the brush. */

import { el } from "../parts/dom.js";

const SIDE = 16; // pixels of the canvas for a patch, which CSS scales

/**
 * @param {import("../maths/geometry.js").Grid} grid
 * @returns {{canvas: HTMLCanvasElement,
 *   draw: (gone: Iterable<number>, changed?: Iterable<number>, brushed?: Iterable<number>) => void}}
 */
export function createMarks(grid) {
  const canvas = el("canvas", { class: "vv-marks", width: grid.cols * SIDE, height: grid.rows * SIDE });
  canvas.style.width = (100 * grid.cols * grid.patchWidth) / grid.width + "%";
  canvas.style.height = (100 * grid.rows * grid.patchHeight) / grid.height + "%";
  const context = canvas.getContext("2d");
  let drawn = "";
  return {
    canvas,
    draw(gone, changed = [], brushed = []) {
      const now = [gone, changed, brushed].map((patches) => [...patches].join()).join("/");
      if (now === drawn) return;
      drawn = now;
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (const patch of gone) each(patch, crossOut);
      for (const patch of changed) each(patch, frame);
      for (const patch of brushed) each(patch, fill);
    },
  };

  function each(patch, paint) {
    const [row, col] = [Math.floor(patch / grid.cols), patch % grid.cols];
    paint(col * SIDE, row * SIDE);
  }

  /** A patch that is gone is grey with a cross, in light and dark alike: no map has this colour. */
  function crossOut(x, y) {
    context.fillStyle = "#6f7378";
    context.fillRect(x, y, SIDE, SIDE);
    context.strokeStyle = "#c9ccd1";
    context.lineWidth = 1;
    context.beginPath();
    for (const [from, to] of [
      [3, SIDE - 3],
      [SIDE - 3, 3],
    ]) {
      context.moveTo(x + from, y + 3);
      context.lineTo(x + to, y + SIDE - 3);
    }
    context.stroke();
  }

  function frame(x, y) {
    context.lineWidth = 1;
    ["#000000", "#ffffff"].forEach((colour, at) => {
      context.strokeStyle = colour;
      context.strokeRect(x + at + 0.5, y + at + 0.5, SIDE - 2 * at - 1, SIDE - 2 * at - 1);
    });
  }

  function fill(x, y) {
    context.fillStyle = "rgba(255, 122, 61, .7)";
    context.fillRect(x, y, SIDE, SIDE);
  }
}
