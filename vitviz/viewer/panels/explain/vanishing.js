/** The picture of a fair test: its patches vanish in the order of one map, step by step with the curves. */

import { removalOrder } from "../../maths/removal.js";
import { el, setText } from "../../parts/dom.js";
import { createMarks } from "../../stage/marks.js";
import { createPicture } from "../../stage/picture.js";

/**
 * @param {import("../../main.js").App} app
 * @param {"first"|"last"} curve  which end of the order goes first
 * @returns {{root: HTMLElement,
 *   render: (result: import("../../data/fairtest.js").Result, one: {key: string, name: string}, values:
 *     Float32Array, step: number, text: (value: number) => string) => void}}
 */
export function createVanishing(app, curve) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const marks = createMarks(grid);
  const picture = createPicture(app, marks.canvas);
  const caption = el("figcaption");
  const patches = [...Array(grid.tokens - grid.prefix).keys()].filter(
    (patch) => !manifest.pass.removed?.includes(patch),
  );
  let [ordered, order] = [null, []];
  return {
    root: el("figure", { class: "vv-vanishing" }, picture.root, caption),
    render({ removed, maps }, { key, name }, values, step, text) {
      if (ordered !== values)
        [ordered, order] = [values, removalOrder(values.subarray(grid.prefix), patches)];
      const count = Math.round(removed[step] * patches.length);
      picture.render(
        {
          source: app.source,
          token: -1,
          pointer: null,
          shown: {
            kind: "none",
            values: null,
            scale: { min: 0, max: 1 },
            colours: "",
            uniform: null,
            missing: null,
          },
        },
        true,
      );
      marks.draw(curve === "first" ? order.slice(0, count) : order.slice(order.length - count));
      setText(caption, t("fairLeft_" + curve, { name, left: text(maps[key][curve][step]) }));
    },
  };
}
