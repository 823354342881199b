/**
 * Summary: how sure a model is of many pictures, how far its heads look (figure 7, right, of
 * arXiv:2010.11929), and where it always looks.
 */

import { colourTable } from "../maths/colour.js";
import { gridOf, mapRatio } from "../maths/geometry.js";
import { digits, multiple, percent } from "../maths/numbers.js";
import { leastEnd } from "../maths/scales.js";
import { evenDistance } from "../maths/scatter.js";
import { inTheMiddle } from "../maths/several.js";
import { mapCanvas } from "../parts/canvas.js";
import { createDotChart } from "../parts/dotchart.js";
import { el, setText } from "../parts/dom.js";
import { meanOf } from "./album.js";

/**
 * @param {any} app
 * @param {import("../types.js").Model} model
 * @param {(key: string, values?: any) => string} say
 */
export function createSummary(app, model, say) {
  const grid = gridOf({ model });
  const [found, always] = [el("p", { class: "vv-found" }), el("p", { class: "vv-note" })];
  const map = mapCanvas(grid.rows, grid.cols);
  map.canvas.style.aspectRatio = String(mapRatio(grid));
  const chart = el("div", { class: "vv-dots" });
  const root = el(
    "div",
    {},
    el("p", { class: "vv-note", text: say("many_bright") }),
    chart,
    el(
      "figure",
      { class: "vv-figure vv-sheet-mean" },
      el("figcaption", { text: say("many_where") }),
      map.canvas,
      always,
    ),
  );
  let dots = /** @type {ReturnType<typeof createDotChart>|null} */ (null);
  return { root, found, render, mark: () => dots?.mark(app.selection, null) };

  /**
   * @param {import("./album.js").Item[]} done
   * @param {NonNullable<ReturnType<typeof import("./album.js").together>>} all
   */
  function render(done, all) {
    const far = all.distance.flat();
    const sure = done.flatMap(({ results }) =>
      results?.answer?.outputs === "one_of" ? [results.predictions[0].probability ?? 0] : [],
    );
    setText(
      found,
      say(sure.length > 0 ? "many_found" : "many_found_far", {
        count: done.length,
        share: percent(meanOf(sure)),
        least: digits(Math.min(...far)),
        most: digits(Math.max(...far)),
      }),
    );
    dots = createDotChart(app, {
      figure: "distance",
      values: all.distance,
      errors: all.error,
      even: evenDistance(grid),
      onPoint() {},
      onChoose: ({ nearest }) => nearest && app.select({ layer: nearest.layer, head: nearest.head }),
    });
    dots.mark(app.selection, null);
    chart.replaceChildren(
      dots.root,
      el("p", { class: "vv-note", text: say("many_dots", { count: done.length }) }),
    );
    const max = Math.max(...all.map, leastEnd(all.map.length));
    map.draw(all.map, 0, { min: 0, max }, colourTable(app.taste.colours));
    const { share, even } = inTheMiddle(all.map, grid);
    const said = [say("many_scale", { times: multiple(max * all.map.length) })];
    // of two rows or columns no patch has its centre in the middle
    if (even > 0)
      said.push(
        say("many_middle", { share: percent(share), even: percent(even), times: multiple(share / even) }),
      );
    if (done.length > 1) said.push(say("many_common", { share: percent(meanOf([...all.common.values()])) }));
    setText(always, said.join(" "));
  }
}
