/**
 * All filters of the patch embedding together: their principal components, as in figure 7 (left) of the
 * paper.
 */

import { pictureCanvas } from "../../parts/canvas.js";
import { el, show } from "../../parts/dom.js";
import { createFold } from "../../parts/fold.js";
import { filterPicture } from "../../maths/embedding.js";
import { percent } from "../../maths/numbers.js";
import { createFileWaiting } from "../../parts/waiting.js";

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createComponents(app) {
  const { t } = app;
  const { manifest, grid, components: file } = app.source;
  const waiting = createFileWaiting(app, () => file, "filtersLoading");
  const root = createFold(app, "components", t("components"), waiting.root);
  root.classList.add("vv-components");
  show(root, file.exists); // a saved analysis has no model that they could be computed of
  let made = false;
  return { root, render };

  function render() {
    if (!file.exists || made || !root.open) return;
    const found = waiting.get();
    if (!found) return;
    made = true;
    const { count, shares } = found;
    const all = shares.reduce((sum, share) => sum + share, 0);
    const gallery = el(
      "div",
      { class: "vv-filters" },
      ...Array.from(shares, (share, at) =>
        el(
          "figure",
          { class: "vv-filter vv-component" },
          pictureCanvas(
            filterPicture(found, at, manifest.model.image),
            grid.patchHeight,
            grid.patchWidth,
            "vv-map vv-enlarged",
          ),
          el("figcaption", { text: percent(share) }),
        ),
      ),
    );
    gallery.style.setProperty("--vv-ratio", String(grid.patchWidth / grid.patchHeight));
    root.append(
      el("p", {
        class: "vv-intro",
        text: t("componentsIntro", { count, dim: manifest.model.embed_dim, share: percent(all) }),
      }),
      gallery,
    );
  }
}
