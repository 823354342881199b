/** More patches, or fewer: the sizes in which the model can be shown the photo, with what each costs. */

import { el, setText, show } from "../../parts/dom.js";
import { button } from "../../parts/widgets.js";
import { explainerOf, visitPanel } from "../../state/panels.js";

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createSizes(app) {
  const { t } = app;
  const { manifest, grid, positions } = app.source;
  const { image, sizes = [], trained_size: trained } = manifest.model;
  const gridOf = ([height, width]) => ({ rows: height / grid.patchHeight, cols: width / grid.patchWidth });
  const same = (size, [height, width]) => size[0] === height && size[1] === width;
  const buttons = sizes.map(({ image_size: size, tokens, times }) => {
    const [height, width] = size;
    const own = same(size, trained);
    const text = t(own ? "sizesOwn" : "sizesOther", {
      ...gridOf(size),
      times: times.toFixed(times < 9.95 ? 1 : 0),
    });
    return button({
      text,
      title: t("sizesTitle", { height, width, tokens }),
      pressed: same(size, [image.height, image.width]),
      onClick: () => {
        app.page.resize(size.join("x"));
        render();
      },
    });
  });
  const coming = el("p", { class: "vv-note", role: "status" });
  const key = "size-" + [...new Set(trained)].join("x");
  const beside = button({
    text: t("sizesBeside"),
    title: t("sizesBesideTitle"),
    onClick: () =>
      app.select({
        ...visitPanel(explainerOf(app.panels, "position").id, app.selection, app.shape()),
        beside: key,
      }),
  });
  const root = el(
    "section",
    { class: "vv-sizes", "aria-label": t("sizes") },
    el("h4", { text: t("sizes") }),
    el("p", {
      class: "vv-intro",
      text: [
        t("sizesIntro", gridOf(trained)),
        positions.exists ? t("sizesPositions") : "",
        t("sizesMeasured"),
      ]
        .filter(Boolean)
        .join(" "),
    }),
    el("div", { class: "vv-pair" }, ...buttons),
    coming,
    beside,
  );
  show(root, app.page.resize !== null && buttons.length > 1);
  return { root, render };

  function render() {
    show(
      beside,
      app.comparisons.besides().some((beside) => beside.key === key),
    );
    const [height, width] = app.page.resizing.split("x").map(Number);
    setText(coming, app.page.resizing ? t("sizesComing", gridOf([height, width])) : "");
  }
}
