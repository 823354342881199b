/** All heads of all layers at once: one small map each, for the shown token. */

import { colourTable } from "../../maths/colour.js";
import { el, setText, show } from "../../parts/dom.js";
import { mapRatio } from "../../maths/geometry.js";
import { createMosaic } from "../../parts/mosaic.js";
import { headScale } from "../../state/sharedscale.js";

/** All maps are drawn at every move of the pointer up to this many multiplications (about 8 ms). */
const MOST_PER_HOVER = 4e6;

/** How long the pointer must rest before a more expensive drawing begins. */
const REST_MS = 120;

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (token: number) => void, destroy: () => void}}
 */
export function createAllHeads(app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const { depth, num_heads: heads } = manifest.model;
  const mosaic = createMosaic({
    outerRows: depth,
    outerCols: heads + 1,
    rows: grid.rows,
    cols: grid.cols,
    ratio: mapRatio(grid),
    label: t("everything"),
  });
  const names = (first, count) =>
    [...first, ...Array(count).keys()].map((name) => el("span", { text: String(name) }));
  const note = el("p", { class: "vv-note", role: "status" });
  const root = el(
    "div",
    { class: "vv-everything" },
    el("div", { class: "vv-axis-name", text: t("everythingAxes") }),
    el("div", { class: "vv-col-names", "aria-hidden": "true" }, ...names([t("mean")], heads)),
    el("div", { class: "vv-row-names", "aria-hidden": "true" }, ...names([], depth)),
    mosaic.frame,
    note,
  );
  const cost = depth * heads * grid.tokens * manifest.model.head_dim;
  let late = 0;
  let drawn = "";
  let faced = null; // the analysis beside, whose maps share the scale

  mosaic.frame.addEventListener("click", (event) => {
    const cell = mosaic.cellAt(event);
    if (cell) app.select({ layer: cell.row, head: cell.col === 0 ? "mean" : cell.col - 1 });
  });
  return { root, render, destroy: () => clearTimeout(late) };

  function render(token) {
    const { layer, head } = app.selection;
    mosaic.mark({ row: layer, col: head === "mean" ? 0 : head + 1 });
    clearTimeout(late);
    if (cost <= MOST_PER_HOVER) draw(token);
    else late = setTimeout(() => draw(token), REST_MS);
  }

  function draw(token) {
    const { direction, layer: selected, head: of } = app.selection;
    const { colours, scale } = app.taste;
    const present = Array.from({ length: depth }, (_, layer) => Boolean(app.source.store.ready.has(layer)));
    const facing = app.facing();
    const other = facing?.source ?? null;
    const beside = [...(other?.store.ready.keys() ?? [])].sort();
    // The selected map shares the scale of the one that is selected beside it, which can have another number.
    const [layers, heads] = [
      [selected, facing?.selection.layer],
      [of, facing?.selection.head],
    ].map((pair) => (facing && pair[0] !== pair[1] ? pair.join() : ""));
    const key = [token, direction, colours, scale, present.join(), beside.join(), layers, heads].join("/");
    if (key === drawn && other === faced) return;
    [drawn, faced] = [key, other];
    const missing = present.filter((here) => !here).length;
    setText(note, missing > 0 ? t("everythingMissing", { missing }) : "");
    show(note, missing > 0);
    if (missing > 0) mosaic.clear();
    const table = colourTable(colours);
    for (let layer = 0; layer < depth; layer++) {
      const maps = present[layer] ? app.source.maps.of(layer, token, direction) : null;
      if (maps) drawLayer(layer, maps, table);
    }
    mosaic.flush();
  }

  function drawLayer(layer, maps, table) {
    mosaic.place(layer, 0, maps.mean, grid.prefix, headScale(app, layer, "mean", maps, maps.mean), table);
    for (let head = 0; head < heads; head++) {
      const start = head * grid.tokens;
      const own = maps.rows.subarray(start, start + grid.tokens);
      mosaic.place(layer, head + 1, own, grid.prefix, headScale(app, layer, head, maps, own), table);
    }
  }
}
