/** Framing: the whole photo, small, with a frame around the part of it that the model saw. */

import { photoCanvas } from "../parts/canvas.js";
import { el, show } from "../parts/dom.js";
import { percent } from "../maths/numbers.js";

/**
 * Shown where the model did not see all of the photo, and its host sent the whole one.
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createFraming(app) {
  const { t, source } = app;
  const { photo } = source.manifest;
  const { image } = source.manifest.model;
  if (!source.whole.exists || !photo.frame) return { root: el("figure", { hidden: true }), render() {} };
  const [top, left, height, width] = photo.frame;
  const whole = photoCanvas("vv-whole-photo");
  const frame = el("span", { class: "vv-crop-frame" });
  Object.assign(frame.style, {
    top: 100 * top + "%",
    left: 100 * left + "%",
    height: 100 * height + "%",
    width: 100 * width + "%",
  });
  const root = el(
    "figure",
    { class: "vv-framing", hidden: true },
    el("div", { class: "vv-whole", role: "img", "aria-label": t("frameLabel") }, whole.canvas, frame),
    el(
      "figcaption",
      {},
      el("b", { text: t("frameTitle") }),
      el("span", {
        text: t("frameNote", { share: percent(height * width), height: image.height, width: image.width }),
      }),
    ),
  );
  return {
    root,
    render() {
      const here = source.whole.get();
      whole.draw(here);
      show(root, here !== null);
    },
  };
}
