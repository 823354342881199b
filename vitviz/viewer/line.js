/**
 * The line: the way of a photo through the model. Choosing a layer on it is choosing the layer; under each stands what the model would
 * answer there.
 */

import { el, freshId, setText } from "./parts/dom.js";
import { OPERATED } from "./state/experiment.js";
import { overlayNamed } from "./state/overlays.js";
import { explainerOf, visitPanel } from "./state/panels.js";
import { firstAfter } from "./maths/predictions.js";
import { percent } from "./maths/numbers.js";
import { labelName } from "./text/words.js";

/** What the model would answer is asked for when nothing has been drawn for this long: a stroke changes it all the time. */
const REST_MS = 400;

/**
 * @param {import("./main.js").App} app
 * @returns {{root: HTMLElement, render: () => void, destroy: () => void}}
 */
export function createLine(app) {
  const { t, source: { manifest: { model }, grid, positions } } = app;
  const parts = { photo: t("linePhoto"), patches: t("linePatches", { count: grid.rows * grid.cols }),
    ...(positions.exists ? { position: t("linePosition") } : {}), answer: t(model.num_classes > 0 ? "lineAnswer" : "lineVector") };
  const stations = Object.entries(parts).map(([part, text]) => ({ part, node: el("button", { type: "button", class: "vv-station",
    "data-control": "tabs", text, title: t("lineTitle", { name: text }), onclick: () => go(explainerOf(app.panels, part).id) }) }));
  const name = freshId("layer");
  const layers = Array.from({ length: model.depth }, (_, layer) => createLayer(name, layer, choose));
  const answer = stations[stations.length - 1].node;
  const root = el("div", { class: "vv-line", role: "group", "aria-label": t("line"), "data-control": "layer" }, ...stations.slice(0, -1).map(({ node }) => node),
    el("div", { class: "vv-layers", role: "radiogroup", "aria-label": t("layer") },
      el("span", { class: "vv-layers-name", text: t("layer"), "aria-hidden": "true" }), ...layers.map((one) => one.root)), answer);
  let seen = -1; // the layer that was brought in sight last
  let late = 0;
  return { root, render, destroy: () => clearTimeout(late) };

  function render() {
    const { layer } = app.selection;
    const lit = app.panel().lights(app);
    for (const { part, node } of stations) light(node, part);
    const answers = answersOf(lensShown());
    const named = answers.filter(Boolean);
    layers.forEach((one, at) => {
      light(one.root, at);
      const count = t("lineLayer", { layer: at, last: model.depth - 1 });
      const [found, label] = [answers[at], answers[at] && labelName(answers[at].label, app)];
      one.set(at === layer, label ?? "", label ? t("lineWould", { layer: count, name: label, share: percent(found.probabilities[at]) }) : count,
        named.length > 0 && found === answers[model.depth - 1]);
    });
    if (seen === layer || root.clientWidth === 0) return;
    seen = layer;
    const { offsetLeft: left, offsetWidth: width } = layers[layer].root;
    const inSight = left >= root.scrollLeft && left + width <= root.scrollLeft + root.clientWidth;
    if (!inSight) root.scrollLeft = left - (root.clientWidth - width) / 2;

    function light(node, part) {
      node.classList.toggle("vv-lit", lit.includes(part));
    }
  }

  /** The lens of the model that is looked at; null while it is not here, or where a lesson asks for the answer. */
  function lensShown() {
    const shows = app.course.shows();
    if (shows && !shows.includes("title")) return null;
    const changed = app.selection.beside === OPERATED && !app.second.error;
    const of = changed ? app.second.app : app;
    root.classList.toggle("vv-coming", changed && (!of || app.second.coming || !of.source.lens.here));
    clearTimeout(late);
    if (!of || model.trained === false) return null;
    const { lens } = of.source;
    if (!lens.here) late = setTimeout(() => lens.get(), REST_MS);
    return lens.here;
  }

  /** @returns {(import("./types.js").LensLine|null)[]} */
  function answersOf(lens) {
    return layers.map((_, at) => lens && firstAfter(lens, at));
  }

  function go(panel) {
    app.select(visitPanel(panel, app.selection, app.shape()));
  }

  /** Where neither the panel nor the picture shows a layer, choosing one leads to the panel that does. */
  function choose(layer) {
    const { overlay } = app.panel();
    const blind = overlay && app.course.shows() === null && ![overlay, app.selection.overlay].some((id) => overlayNamed(id).controls.includes("layer"));
    app.select({ ...(blind ? visitPanel(explainerOf(app.panels, "layers").id, app.selection, app.shape()) : {}), layer });
  }
}

/** A layer: a radio button with its number, and the answer under it. */
function createLayer(name, layer, onChoose) {
  const input = el("input", { type: "radio", name, value: String(layer), onchange: () => onChoose(layer) });
  const answer = el("span", { class: "vv-would" });
  const root = el("label", { class: "vv-layer" }, input, el("span", { class: "vv-layer-number", text: String(layer) }), answer);
  return {
    root,
    set(chosen, text, said, final) {
      if (chosen && !input.checked) input.checked = true;
      setText(answer, text);
      if (input.getAttribute("aria-label") === said) return;
      input.setAttribute("aria-label", said);
      root.title = said;
      root.classList.toggle("vv-final", final);
    },
  };
}
