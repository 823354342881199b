/**
 * The brush on the picture: while it is in use, strokes change the experiment and the page does not scroll.
 */

import { el, show } from "../parts/dom.js";
import { createMarks } from "./marks.js";
import { removedIn, touchedIn } from "../state/experiment.js";
import { patchesBetween } from "../maths/geometry.js";

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createBrush(app) {
  const { bench } = app;
  const { grid } = app.source;
  const marks = createMarks(grid);
  const root = el("div", { class: "vv-brush" }, marks.canvas);
  /** @type {null|{id: number, at: {row: number, col: number}, patches: Set<number>}} */
  let stroke = null;
  root.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    if (!event.isPrimary || event.button !== 0) return abort();
    event.preventDefault();
    app.pointer.point(null, false);
    const frame = /** @type {HTMLElement|null} */ (root.closest(".vv-frame"));
    frame?.focus({ preventScroll: true }); // for undo by keys
    root.setPointerCapture(event.pointerId);
    stroke = { id: event.pointerId, at: placeAt(event), patches: new Set() };
    return go(event);
  });
  root.addEventListener("pointermove", (event) => {
    if (!stroke) return; // the patch under the pointer is read as ever
    event.stopPropagation();
    if (event.pointerId === stroke.id) for (const move of event.getCoalescedEvents?.() ?? [event]) go(move);
  });
  root.addEventListener("pointerup", (event) => {
    event.stopPropagation();
    if (stroke?.id !== event.pointerId) return;
    const patches = [...stroke.patches];
    stroke = null;
    bench.stroke(patches);
    render();
  });
  root.addEventListener("pointercancel", abort); // two fingers zoom
  root.addEventListener("click", (event) => event.stopPropagation());
  return { root, render };

  function abort() {
    stroke = null;
    bench.forget();
    render();
  }

  /** Row and column, with fractions, of a point of the picture. */
  function placeAt(event) {
    const box = root.getBoundingClientRect();
    return {
      row: ((event.clientY - box.top) / box.height) * (grid.height / grid.patchHeight),
      col: ((event.clientX - box.left) / box.width) * (grid.width / grid.patchWidth),
    };
  }

  function go(event) {
    const to = placeAt(event);
    const size = bench.tool === "swap" ? 1 : bench.size;
    for (const patch of patchesBetween(stroke.at, to, size, grid)) stroke.patches.add(patch);
    stroke.at = to;
    render();
  }

  /**
   * While one erases, or its panel or a lesson is open, what the experiment does is marked on the picture.
   */
  function render() {
    show(root, Boolean(bench.marks() || app.course.lesson()));
    if (root.hidden) return;
    root.classList.toggle("vv-on", bench.paints());
    if (stroke) bench.sketch([...stroke.patches]); // what waited for an answer
    const list = bench.marks() && bench.shows === "before" ? [] : bench.list();
    const under = stroke ? stroke.patches : bench.first === null ? [] : [bench.first];
    marks.draw(removedIn(list, grid.rows * grid.cols), touchedIn(list), under);
  }
}
