/** The controls under the stage, for the selection and for the taste. */

import { COLOUR_MAPS } from "../maths/colour.js";
import { createBesideChoice } from "./beside.js";
import { el } from "./dom.js";
import { OVERLAYS } from "../state/state.js";
import { choice, slider, toggle } from "./widgets.js";

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createSteering(app) {
  const { t } = app;
  const { manifest } = app.source;
  const layer = slider({
    label: t("layer"), min: 0, max: manifest.depth - 1, step: 1,
    format: (value) => t("ofCount", { value, last: manifest.depth - 1 }),
    onInput: (value) => app.select({ layer: value }),
  });
  const head = choice({
    label: t("head"), wrap: true,
    options: [{ value: "mean", text: t("mean") },
      ...Array.from({ length: manifest.num_heads }, (_, at) => (
        { value: at, text: String(at), title: t("headNumber", { head: at }) }))],
    onChoose: (value) => app.select({ head: value }),
  });
  const direction = choice({
    label: t("direction"),
    options: [{ value: "from", text: t("from"), title: t("fromTitle") },
      { value: "to", text: t("to"), title: t("toTitle") }],
    onChoose: (value) => app.select({ direction: value }),
  });
  const overlay = choice({
    label: t("overlay"),
    options: OVERLAYS.map((value) => (
      { value, text: t("overlay_" + value) })),
    onChoose: (value) => app.select({ overlay: value }),
  });
  const beside = createBesideChoice(app);
  const looks = createLooks(app);
  const root = el("section", { class: "vv-steering", "aria-label": t("controls") },
    layer.root, head.root,
    el("div", { class: "vv-pair" }, direction.root, overlay.root), beside.root, looks.root);
  return {
    root,
    render() {
      const { selection } = app;
      const panel = app.panel();
      const uses = (kind) => (selection.overlay === kind || panel.overlay === kind) &&
        (kind !== "rollout" || app.source.relevance.possible);
      layer.set(selection.layer, uses("attention") || uses("rollout") || uses("features"));
      head.set(selection.head, uses("attention"));
      direction.set(selection.direction, uses("attention"));
      overlay.set(selection.overlay);
      beside.render();
      looks.render(uses);
    },
  };
}

/** The controls of the taste (colours, scale, opacity, ...), folded until they are opened. */
function createLooks(app) {
  const { t } = app;
  const colours = choice({
    label: t("colours"),
    options: COLOUR_MAPS.map((value) => ({ value, text: value })),
    onChoose: (value) => app.prefer({ colours: value }),
  });
  const scale = choice({
    label: t("scale"),
    options: [{ value: "map", text: t("scaleMap"), title: t("scaleMapTitle") },
      { value: "heads", text: t("scaleHeads"), title: t("scaleHeadsTitle") }],
    onChoose: (value) => app.prefer({ scale: value }),
  });
  const opacity = slider({
    label: t("opacity"), min: 0, max: 100, step: 1, format: (value) => value + "\u00a0%",
    onInput: (value) => app.prefer({ opacity: value / 100 }),
  });
  const grid = toggle({ label: t("gridLines"), onSwitch: (on) => app.prefer({ grid: on }) });
  const smooth = toggle({ label: t("smooth"), onSwitch: (on) => app.prefer({ smooth: on }) });
  const root = el("details", { class: "vv-looks" },
    el("summary", { text: t("looks") }),
    el("div", { class: "vv-looks-body" },
      opacity.root, el("div", { class: "vv-toggles" }, grid.root, smooth.root),
      colours.root, scale.root));
  root.open = app.looksOpen;
  root.addEventListener("toggle", () => { app.looksOpen = root.open; });
  return {
    root,
    render(uses) {
      const { taste, selection } = app;
      const flows = uses("attention") || uses("rollout") || uses("features");
      colours.set(taste.colours, flows);
      scale.set(taste.scale, uses("attention"));
      opacity.set(Math.round(taste.opacity * 100), selection.overlay !== "none");
      grid.set(taste.grid);
      smooth.set(taste.smooth, selection.overlay !== "none" || app.panel().overlay !== "none");
    },
  };
}
