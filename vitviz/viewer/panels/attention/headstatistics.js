/** Entropy and mean attention distance of every head, as dots over the layers (the ViT paper's figure 7). */

import { mapCanvas } from "../../parts/canvas.js";
import { colourTable } from "../../maths/colour.js";
import { NOTHING, createDotChart } from "../../parts/dotchart.js";
import { el, setText, show } from "../../parts/dom.js";
import { mapRatio } from "../../maths/geometry.js";
import { digits } from "../../maths/numbers.js";
import { cited } from "../../parts/cited.js";
import { patchScale } from "../../maths/scales.js";
import { dotInView, dotOfClick, evenDistance, headsByLayer } from "../../maths/scatter.js";
import { createFileView } from "../../parts/waiting.js";

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (token: number) => void}}
 */
export function createHeadStatistics(app) {
  return createFileView(
    app,
    el("div"),
    () => app.source.statistics,
    "dotsLoading",
    (found) => createView(app, found),
  );
}

/**
 * @param {import("../../main.js").App} app
 * @param {import("../../data/analysis.js").Statistics} statistics
 */
function createView(app, statistics) {
  const { t } = app;
  const { manifest, grid } = app.source;
  let found = NOTHING; // the dots under the pointer, or where a finger has tapped
  const even = { entropy: Math.log(grid.tokens), distance: evenDistance(grid) };
  const charts = /** @type {const} */ (["entropy", "distance"]).map((figure) =>
    createDotChart(app, {
      figure,
      values: statistics[figure],
      even: even[figure],
      onPoint: point,
      onChoose: choose,
    }),
  );
  const reading = el("p", { class: "vv-under", role: "status" });
  const others = el("p", { class: "vv-note" });
  const small = mapCanvas(grid.rows, grid.cols);
  const preview = el("div", { class: "vv-dot-preview" }, small.canvas);
  preview.style.setProperty("--vv-ratio", String(mapRatio(grid)));
  const figures = el(
    "div",
    {
      class: "vv-figures",
      tabindex: "0",
      role: "application",
      "aria-label": t("dotsLabel"),
      onkeydown: onKey,
    },
    ...charts.map((chart) => chart.root),
  );
  const root = el(
    "div",
    { class: "vv-dots" },
    figures,
    el("div", { class: "vv-dot-reading" }, preview, el("div", {}, reading, others)),
    cited(t("dotsNote"), "arXiv:2010.11929"),
    el("p", { class: "vv-note", text: t("roundingError", { error: digits(statistics.error) }) }),
  );
  let token = 0;
  let chosen = { layer: -1, head: null };
  return { root, render };

  function point(next) {
    if (next.nearest === found.nearest) return;
    found = next;
    draw();
  }

  /** A click selects the head of the nearest dot; clicking again goes through the dots that overlap it. */
  function choose(next) {
    // A click has whole pixels for its place: the dots can be the same while another one is nearer.
    const here = found.pile.includes(next.nearest) ? found : next;
    const wanted = dotOfClick(here, app.selection);
    point(here);
    if (wanted) app.select({ layer: wanted.layer, head: wanted.head });
  }

  function render(shown) {
    token = shown;
    const { layer, head } = app.selection;
    // The head was selected elsewhere, by a key or a slider: it replaces the dots under the pointer.
    const elsewhere = layer !== chosen.layer || head !== chosen.head;
    if (elsewhere && !found.pile.some((dot) => dot.layer === layer && dot.head === head)) found = NOTHING;
    chosen = { layer, head };
    draw();
  }

  function draw() {
    const pointed = dotInView(found, chosen);
    const looked = pointed ?? (chosen.head === "mean" ? null : chosen);
    for (const chart of charts) chart.mark(chosen, pointed);
    show(preview, looked !== null);
    setText(
      others,
      found.pile.length > 1
        ? t("dotsPile", {
            count: found.pile.length,
            heads: headsByLayer(found.pile)
              .map(([of, heads]) =>
                t(heads.length > 1 ? "dotsPileHeads" : "dotsPileHead", {
                  layer: of,
                  heads: heads.join(", "),
                }),
              )
              .join("; "),
          })
        : "",
    );
    if (!looked) return setText(reading, t("dotsPoint"));
    const value = (figure) => statistics[figure][looked.layer][looked.head];
    setText(
      reading,
      t("dotsReading", {
        ...looked,
        entropy: digits(value("entropy")),
        spread: digits(Math.exp(value("entropy"))),
        tokens: grid.tokens,
        distance: digits(value("distance")),
      }),
    );
    const { direction } = app.selection;
    const map = app.source.store.ready.has(looked.layer)
      ? app.source.maps.head(looked.layer, token, direction, looked.head)
      : null;
    if (map) small.draw(map, grid.prefix, patchScale(map, grid), colourTable(app.taste.colours));
    else small.clear();
    return undefined;
  }

  /** Left and right keys change the layer, up and down keys the head. */
  function onKey(event) {
    const { layer, head } = app.selection;
    const at = head === "mean" ? 0 : head;
    const last = { layer: manifest.model.depth - 1, head: manifest.model.num_heads - 1 };
    const wanted = {
      ArrowLeft: { layer: Math.max(0, layer - 1), head: at },
      ArrowRight: { layer: Math.min(last.layer, layer + 1), head: at },
      ArrowUp: { head: head === "mean" ? 0 : Math.min(last.head, at + 1) },
      ArrowDown: { head: Math.max(0, at - 1) },
    }[event.key];
    if (!wanted) return;
    event.preventDefault();
    event.stopPropagation();
    app.select(wanted);
  }
}
