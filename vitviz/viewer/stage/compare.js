/** Compare: the map of the pinned token beside that of the token under the pointer, on one scale. */

import { overlap } from "../maths/attention.js";
import { mapCanvas } from "../parts/canvas.js";
import { colourTable } from "../maths/colour.js";
import { el, setText, show } from "../parts/dom.js";
import { mapRatio } from "../maths/geometry.js";
import { digits, percent } from "../maths/numbers.js";
import { spanOf } from "../maths/scales.js";
import { placeBox } from "./picture.js";
import { overlayNamed, overlayOf } from "../state/overlays.js";
import { tokenName } from "../text/words.js";

/**
 * Shown while a token is pinned and the picture has an overlay.
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: (view: import("../types.js").View) => void}}
 */
export function createCompare(app) {
  const { t } = app;
  const [kept, other] = [createSide(app, "vv-kept"), createSide(app, "")];
  const hint = el("p", { class: "vv-note", text: t("compareHint") });
  const common = el("p", { class: "vv-compare-common" });
  const between = el("p", { class: "vv-note" });
  const scale = el("p", { class: "vv-note" });
  const words = el("div", { class: "vv-compare-words" }, hint, common, between, scale);
  const root = el(
    "section",
    { class: "vv-compare", "aria-label": t("compare") },
    kept.root,
    other.root,
    words,
  );
  return { root, render };

  function render({ shown }) {
    const { selection } = app;
    const pointed = app.pointer.pointed ?? app.pointer.compared;
    // A second analysis is compared in its own part of the page.
    const wanted = selection.pinned && !app.panel().pairs && !app.facing() && possible();
    const first = wanted ? ofToken(selection.token, shown) : null;
    show(root, Boolean(first?.values));
    if (!first?.values) return;
    const second = pointed === null || pointed === selection.token ? null : ofToken(pointed, shown);
    const both = second?.values ? second : null;
    const scaled = { ...first, scale: spanOf(first.scale, both?.scale) };
    kept.render(selection.token, scaled);
    other.render(both && pointed, both && { ...both, scale: scaled.scale });
    show(hint, !both);
    for (const line of [common, between, scale]) show(line, both !== null);
    if (both) write(selection.token, pointed, first, both, scaled.scale);
  }

  function write(token, pointed, first, second, { min, max }) {
    const flows = first.uniform !== null;
    show(common, flows);
    if (flows) setText(common, t("compareCommon", { share: percent(overlap(first.values, second.values)) }));
    const [there, back] = [first.values[pointed], second.values[token]];
    const [out, into] =
      overlayNamed(first.kind).controls.includes("direction") && app.selection.direction === "to"
        ? [back, there]
        : [there, back];
    const [a, b] = [tokenName(token, app), tokenName(pointed, app)];
    if (flows) setText(between, t("compareFlows", { a, b, out: percent(out), back: percent(into) }));
    else if (first.told)
      setText(between, t("compareTold", { a, b, there: digits(there), back: digits(back) }));
    else setText(between, t("compareCosine", { a, b, value: digits(there) }));
    show(between, Number.isFinite(there) && Number.isFinite(back));
    setText(scale, t("compareScale", { min: digits(min), max: digits(max) }));
  }

  /** The overlay of a token; that of the stage is not computed again. */
  function ofToken(token, shown) {
    return token === app.pointer.shownToken() ? shown : overlayOf(app, token);
  }

  /**
   * A host that computes rollouts is asked for the shown token only, not for a second one; nor for
   * explanations.
   */
  function possible() {
    return !overlayNamed(app.selection.overlay).costs?.(app.source);
  }
}

function createSide(app, kind) {
  const { grid } = app.source;
  const map = mapCanvas(grid.rows, grid.cols);
  const box = el("span", { class: "vv-box" });
  const frame = el("div", { class: ("vv-compare-map " + kind).trim() }, map.canvas, box);
  frame.style.setProperty("--vv-ratio", String(mapRatio(grid)));
  return {
    root: frame,
    /** @param {number|null} token @param {import("../state/overlays.js").Overlay|null} overlay */
    render(token, overlay) {
      frame.classList.toggle("vv-nothing", !overlay);
      if (overlay) map.draw(overlay.values, grid.prefix, overlay.scale, colourTable(overlay.colours));
      else map.clear();
      placeBox(box, token ?? -1, grid);
    },
  };
}
