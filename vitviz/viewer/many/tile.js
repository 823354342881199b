/** Tile: one picture of the sheet as the model saw it, dark where it does not look, with its answer. */

import { shadeTable, toRgba } from "../maths/colour.js";
import { gridOf } from "../maths/geometry.js";
import { leastEnd } from "../maths/scales.js";
import { mapCanvas } from "../parts/canvas.js";
import { el } from "../parts/dom.js";
import { answerOf } from "../text/answer.js";

/**
 * @param {any} app
 * @param {import("./album.js").Item} one  that is done
 * @param {(key: string, values?: any) => string} say
 */
export function createTile(
  app,
  { results, map = new Float32Array(), picture = new Uint8Array(), name, file, key },
  say,
) {
  const { manifest } = app.source;
  const { model } = manifest;
  const { height, width, channels } = model.image;
  const grid = gridOf({ model });
  const answer = answerOf({
    t: app.t,
    language: app.language,
    source: { manifest: { ...manifest, pass: results } },
  });
  const canvas = el("canvas", { width, height, role: "img", "aria-label": name });
  const pen = canvas.getContext("2d");
  const light = mapCanvas(grid.rows, grid.cols);
  light.draw(map, 0, { min: 0, max: Math.max(...map, leastEnd(map.length)) }, shadeTable());
  pen.putImageData(new ImageData(toRgba(picture, channels), width, height), 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(light.canvas, 0, 0, width, height);
  const isItself = key !== undefined && key === manifest.itself?.key;
  const open = () => {
    if (file) app.page.take?.(file, name);
    else app.select({ beside: isItself ? "" : key }); // it is alone on the page then
    if (isItself) canvas.closest(".vitviz")?.querySelector(".vv-stage")?.scrollIntoView({ block: "nearest" });
  };
  return el(
    "div",
    { role: "listitem" },
    el(
      "button",
      {
        type: "button",
        class: "vv-sheet-tile",
        title: say(file ? "many_open" : isItself ? "many_itself" : "many_beside", { name }),
        onclick: open,
      },
      canvas,
      el("span", { text: answer?.line ?? say("camera_no_classes") }),
      el("span", { class: "vv-note", text: name }),
    ),
  );
}
