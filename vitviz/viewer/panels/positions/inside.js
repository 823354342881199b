/** The effect of positions inside attention alone: a map of each head around the selected patch. */

import { colourTable } from "../../maths/colour.js";
import { el, setText, show } from "../../parts/dom.js";
import { createGallery } from "../../parts/gallery.js";
import { placeOf } from "../../maths/geometry.js";
import { insideMap } from "../../maths/inside.js";
import { createLegend } from "../../parts/legend.js";
import { createPatchMap } from "../../parts/patchmap.js";
import { createFileWaiting } from "../../parts/waiting.js";
import { insideFinding } from "../../text/findings.js";

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (view: {token: number}) => void}}
 */
export function createInside(app) {
  const { t } = app;
  const { grid, inside: file } = app.source;
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const place = el("div");
  const legend = createLegend(t);
  const waiting = createFileWaiting(app, () => file, "insideLoading");
  const root = el("div", {}, ...(file.exists ? [found, intro, waiting.root, place, legend.root] : []));
  let maps = [];
  return { root, render };

  function render({ token }) {
    if (!file.exists) return;
    const inside = waiting.get();
    const from = placeOf(token, grid);
    show(legend.root, inside !== null && from !== null);
    show(place, inside !== null && from !== null);
    setText(found, inside && from ? insideFinding(app, inside, from) : "");
    setText(intro, !inside ? "" : from ? t("inside_" + inside.kind) : t("insidePrefix"));
    if (!inside || !from) return;
    if (maps.length === 0) {
      maps = Array.from({ length: inside.heads }, () => createPatchMap(grid));
      const figures = maps.map(({ frame }, head) =>
        el(
          "figure",
          { class: "vv-figure" },
          el("figcaption", { text: inside.heads === 1 ? t("insideEveryHead") : t("head") + " " + head }),
          frame,
        ),
      );
      place.append(
        inside.heads === 1
          ? el("div", { class: "vv-figures" }, ...figures, el("div"))
          : createGallery({ grid, label: t("insideMaps"), most: 6, least: "7em", maps: figures }),
      );
    }
    const scale = { min: -inside.most, max: inside.most };
    maps.forEach((map, head) => {
      map.draw(insideMap(inside, app.selection.layer, head, from, grid), 0, scale, colourTable("diverging"));
      map.mark(token);
    });
    legend.render({
      scale,
      colours: "diverging",
      uniform: null,
      decimals: 2,
      note: t("insideScale_" + inside.kind),
    });
  }
}
