/**
 * Attention of the learned query that gathers the answer of a model without a CLS token: a map for each head.
 */

import { meanOfHeads } from "../../maths/attention.js";
import { colourTable, largest } from "../../maths/colour.js";
import { multiple } from "../../maths/numbers.js";
import { headsScale } from "../../maths/scales.js";
import { el, setText, show } from "../../parts/dom.js";
import { createGallery } from "../../parts/gallery.js";
import { createLegend } from "../../parts/legend.js";
import { createPatchMap } from "../../parts/patchmap.js";
import { createFileWaiting } from "../../parts/waiting.js";
import { tokenTable } from "../../state/saves.js";
import { poolFinding } from "../../text/findings.js";

/**
 * @param {import("../../main.js").App} app  of a model that pools so
 * @returns {{root: HTMLElement, render: (token: number) => void}}
 */
export function createPool(app) {
  const { t } = app;
  const { grid } = app.source;
  const found = el("p", { class: "vv-found" });
  const body = el(
    "div",
    { class: "vv-pair-body" },
    found,
    el("p", { class: "vv-intro", text: t("poolIntro") }),
  );
  const legend = createLegend(t);
  const waiting = createFileWaiting(app, () => app.source.pooling, "poolLoading");
  const root = el(
    "section",
    { class: "vv-mix", "aria-label": t("poolTitle") },
    el("h4", { text: t("poolTitle") }),
    waiting.root,
    body,
  );
  let maps = null;
  return { root, render };

  function render(token) {
    const pool = waiting.get();
    show(body, pool !== null);
    if (!pool) return;
    const shown = shownOf(pool);
    if (!maps) {
      maps = shown.map(() => createPatchMap(grid));
      body.append(
        createGallery({
          grid,
          label: t("poolTitle"),
          most: 7,
          least: "5.6em",
          maps: shown.map(({ head, values }, at) =>
            el(
              "figure",
              { class: "vv-figure" },
              maps[at].frame,
              el(
                "figcaption",
                { class: "vv-head-line" },
                el("span", { text: head === "mean" ? t("mean") : t("headNumber", { head }) }),
                el("span", {
                  title: t("peakTitle"),
                  text: t("times", {
                    times: multiple(largest(values, grid.prefix, grid.tokens) * grid.tokens),
                  }),
                }),
              ),
            ),
          ),
        }),
        legend.root,
      );
    }
    const scale = headsScale(pool.rows, pool.heads, grid);
    setText(found, poolFinding(app, shown[0].values));
    shown.forEach(({ values }, at) => {
      maps[at].draw(values, grid.prefix, scale, colourTable(app.taste.colours));
      maps[at].mark(token);
    });
    legend.render({ scale, colours: app.taste.colours, uniform: 1 / grid.tokens, note: t("poolScale") });
  }
}

/** The mean of the heads, and each of them. @param {import("../../data/analysis.js").Pool} pool */
function shownOf({ heads, rows }) {
  const count = rows.length / heads;
  return [
    { head: "mean", values: meanOfHeads(rows, heads) },
    ...Array.from({ length: heads }, (_, head) => ({
      head,
      values: rows.subarray(head * count, (head + 1) * count),
    })),
  ];
}

/** The maps as a table, once they are here. */
export function poolTables(app) {
  const pool = app.source.pooling.get();
  return pool
    ? {
        pooling: tokenTable(
          app,
          Object.fromEntries(
            shownOf(pool).map(({ head, values }) => [head === "mean" ? head : "head_" + head, values]),
          ),
        ),
      }
    : {};
}
