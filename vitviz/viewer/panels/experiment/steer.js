/** Steer: the direction of a class, added to tokens after a layer, by a slider. */

import { el, freshId } from "../../parts/dom.js";
import { choice, slider } from "../../parts/widgets.js";
import { isSteered } from "../../state/experiment.js";
import { className } from "../../text/explaining.js";
import { chooseClass, classOptions } from "./classoptions.js";
import { restingSlider } from "./restingslider.js";

const [MOST, STEP] = [4, 0.25];

/**
 * The controls; null for a model whose head reads no classes from the tokens.
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}|null}
 */
export function createSteerControls(app) {
  const { t, bench, source } = app;
  const { model, pass } = source.manifest;
  if (!isSteered(source.manifest)) return null;
  const where = ["cls", "all"].filter(
    (patches) => patches === "all" || model.prefix_tokens[0] === "cls_token",
  );
  /** The state of the controls; it is in the list of changes unless its factor is 0. */
  let one = {
    kind: "add",
    patches: /** @type {any} */ (where[0]),
    layer: Math.floor(model.depth / 2),
    toward: pass.predictions[1].index,
    factor: 0,
  };
  const id = freshId("steer");
  const menu = el(
    "select",
    { id, class: "vv-select", onchange: () => put({ toward: Number(menu.value) }) },
    ...classOptions(app),
  );
  const layer = slider({
    label: t("experimentSteerAfter"),
    min: 0,
    max: model.depth - 1,
    step: 1,
    format: String,
    onInput: (value) => put({ layer: value }),
  });
  const tokens = choice({
    label: t("experimentSteerTokens"),
    onChoose: (patches) => put({ patches }),
    options: where.map((patches) => ({ value: patches, text: t("experimentTransplant_" + patches) })),
  });
  const factor = restingSlider({
    label: t("experimentSteerFactor"),
    min: -MOST,
    max: MOST,
    step: STEP,
    format: (value) => (value === 0 ? t("experimentSteerNothing") : "× " + value),
    onRest: (value) => put({ factor: value }),
  });
  const root = el(
    "div",
    { class: "vv-sections" },
    el("p", { class: "vv-note", text: t("experimentSteerHint") }),
    el("div", { class: "vv-pair" }, el("label", { for: id, text: t("experimentSteerToward") }), menu),
    tokens.root,
    el("div", { class: "vv-knobs" }, layer.root, factor.root),
  );
  return { root, render };

  /** The place of what is steered in the list; a link may hold several, of which the last is here. */
  function placeIn(list) {
    return list.findLastIndex(({ kind }) => kind === "add");
  }

  /** Change one thing; with a factor of 0 nothing is in the list. */
  function put(/** @type {any} */ wanted) {
    const factorNow = factor.take() ?? one.factor;
    one = { ...one, factor: factorNow, ...wanted };
    const list = bench.list();
    const at = placeIn(list);
    const now = one.factor === 0 ? [] : [one];
    if (at < 0 && now.length === 0) return render();
    return bench.change(at < 0 ? [...list, ...now] : list.flatMap((item, i) => (i === at ? now : [item])));
  }

  function render() {
    const list = bench.list();
    const there = list[placeIn(list)];
    one = there ? /** @type {any} */ ({ ...there }) : { ...one, factor: 0 };
    const wanted = String(one.toward);
    chooseClass(menu, wanted, () => className(one.toward, app));
    layer.set(one.layer);
    tokens.set(one.patches, where.length > 1);
    factor.set(one.factor);
  }
}
