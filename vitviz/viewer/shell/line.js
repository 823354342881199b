/**
 * The line: the way of a photo through the model. Choosing a layer on it is choosing the layer; under each
 * stands what the model would answer there.
 */

import { lightCanvas, pixelCanvas } from "../parts/canvas.js";
import { el, freshId, setText } from "../parts/dom.js";
import { OPERATED } from "../state/experiment.js";
import { overlayNamed } from "../state/overlays.js";
import { explainerOf, visitPanel } from "../state/panels.js";
import { firstAfter } from "../maths/predictions.js";
import { percent } from "../maths/numbers.js";
import { isAnswer, refuses } from "../text/answer.js";
import { patchScale } from "../maths/scales.js";
import { labelName } from "../text/words.js";

/**
 * Pause without a drawing after which the answer of the model is requested: a stroke changes it all the time.
 */
const REST_MS = 400;

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: (view: import("../types.js").View) => void, destroy: () => void}}
 */
export function createLine(app) {
  const { t } = app;
  const { grid, positions } = app.source;
  const { model } = app.source.manifest;
  const parts = {
    photo: t("linePhoto"),
    patches: t("linePatches", { count: grid.rows * grid.cols }),
    ...(positions.exists ? { position: t("linePosition") } : {}),
    answer: t(model.num_classes > 0 ? "lineAnswer" : "lineVector"),
  };
  const stations = Object.entries(parts).map(([part, text]) => ({
    part,
    node: el("button", {
      type: "button",
      class: "vv-station",
      "data-control": "tabs",
      text,
      title: t("lineTitle", { name: text }),
      onclick: () => go(explainerOf(app.panels, part).id),
    }),
  }));
  const name = freshId("layer");
  const layers = Array.from({ length: model.depth }, (_, layer) => createLayer(app, name, layer, choose));
  const answer = stations[stations.length - 1].node;
  const root = el(
    "div",
    { class: "vv-line", role: "group", "aria-label": t("line"), "data-control": "layer", onfocusin: reveal },
    ...stations.slice(0, -1).map(({ node }) => node),
    el(
      "div",
      { class: "vv-layers", role: "radiogroup", "aria-label": t("layer") },
      el("span", { class: "vv-layers-name", text: t("layer"), "aria-hidden": "true" }),
      ...layers.map((one) => one.root),
    ),
    answer,
    el("p", {
      class: "vv-line-caption",
      text: t("lineCaption"),
    }),
  );
  let seen = -1; // the layer that was brought in sight last
  let told = null; // the lens whose answers stand there
  let late = 0;
  tell(null, null);
  return { root, render, destroy: () => clearTimeout(late) };

  function render({ token }) {
    const { layer } = app.selection;
    const lit = app.panel().lights(app);
    const changed = app.selection.beside === OPERATED && !app.second.error;
    const of = changed ? app.second.app : app;
    // While the hand still moves the answer alone follows it.
    if (app.panel().plain && !app.bench.underWay())
      for (const one of layers) one.draw(token, (of ?? app).source);
    const lens = lensOf(of);
    root.classList.toggle("vv-coming", changed && (!of || app.second.coming || !lens));
    for (const { part, node } of stations) light(node, part);
    layers.forEach((one, at) => {
      light(one.root, at);
      one.choose(at === layer);
    });
    if (told !== lens) tell(lens, of && lens ? of.source : null);
    told = lens;
    if (seen === layer || root.clientWidth === 0) return;
    seen = layer;
    const { offsetLeft: left, offsetWidth: width } = layers[layer].root;
    const inSight = left >= root.scrollLeft && left + width <= root.scrollLeft + root.clientWidth;
    if (!inSight) root.scrollLeft = left - (root.clientWidth - width) / 2;

    function light(node, part) {
      node.classList.toggle("vv-lit", lit.includes(part));
    }
  }

  /** Scrolls the row to what the keyboard comes to: browsers leave a part of it outside. */
  function reveal({ target }) {
    const [row, one] = [root, target.closest(".vv-layer") ?? target].map((node) =>
      node.getBoundingClientRect(),
    );
    if (one.left < row.left) root.scrollLeft -= row.left - one.left;
    else if (one.right > row.right) root.scrollLeft += one.right - row.right;
  }

  /** Says what each layer would answer. @param {any} source  of the lens */
  function tell(lens, source) {
    const [firm, denied] = source ? [isAnswer(source), refuses(source)] : [false, false];
    const answers = layers.map((_, at) => lens && firstAfter(lens, at));
    layers.forEach((one, at) => {
      const count = t("lineLayer", { layer: at, last: model.depth - 1 });
      const found = answers[at];
      const name = found ? labelName(found.label, app) : "";
      // A digit under the number of a layer must not be read as another number of it.
      const would = () =>
        denied
          ? t("lineWouldBare", { layer: count, name })
          : t("lineWould", { layer: count, name, share: percent(found.probabilities[at]) });
      one.say(
        /^\d/.test(name) ? "\u201c" + name + "\u201d" : name,
        found ? would() : count,
        firm && found !== null && found === answers[model.depth - 1],
      );
    });
  }

  /** The lens of a model; null while it is not here, or where a lesson asks for the answer. */
  function lensOf(of) {
    const shows = app.course.shows();
    clearTimeout(late);
    const hasRanks = ["one_of", "any_of"].includes(model.outputs); // one class leads at every layer
    if (!of || !hasRanks || model.trained === false || (shows && !shows.includes("title"))) return null;
    const { lens } = of.source;
    if (!lens.here) late = setTimeout(() => lens.get(), REST_MS);
    return lens.here;
  }

  function go(panel) {
    app.select(visitPanel(panel, app.selection, app.shape()));
  }

  /** Chooses a layer. If neither the panel nor the picture shows layers, this opens the panel that does. */
  function choose(layer) {
    const { overlay } = app.panel();
    const blind =
      overlay &&
      app.course.shows() === null &&
      ![overlay, app.selection.overlay].some((id) => overlayNamed(id).controls.includes("layer"));
    app.select({
      ...(blind ? visitPanel(explainerOf(app.panels, "layers").id, app.selection, app.shape()) : {}),
      layer,
    });
  }
}

/** A layer: a radio button with its number, and the answer under it; on the first look with its picture. */
function createLayer(app, name, layer, onChoose) {
  const input = el("input", { type: "radio", name, value: String(layer), onchange: () => onChoose(layer) });
  const answer = el("span", { class: "vv-would" });
  let picture = null; // once it is needed
  const root = el(
    "label",
    { class: "vv-layer" },
    input,
    el("span", { class: "vv-layer-number", text: String(layer) }),
    answer,
  );
  return {
    root,
    /** Draws where a token looks in this layer of an analysis, by the mean of its heads. */
    draw(token, source) {
      if (!picture) answer.before((picture = createLayerPicture(app, layer)).root);
      picture.draw(token, source);
    },
    choose(chosen) {
      if (chosen && !input.checked) input.checked = true;
    },
    say(text, said, final) {
      setText(answer, text);
      input.setAttribute("aria-label", said);
      root.title = said;
      root.classList.toggle("vv-final", final);
    },
  };
}

/** The picture with the light of a layer. */
function createLayerPicture(app, layer) {
  const { grid, manifest } = app.source;
  const { height, width } = manifest.model.image;
  const pixels = pixelCanvas(height, width, "vv-pixels");
  const light = lightCanvas(grid.rows, grid.cols);
  const root = el("span", { class: "vv-layer-picture" }, pixels.canvas, ...light.nodes);
  root.style.aspectRatio = width + " / " + height;
  return {
    root,
    draw(token, source) {
      pixels.draw(source.picture.get()?.rgba);
      const values = source.maps.head(layer, token, app.selection.direction, "mean");
      root.classList.toggle("vv-stale", !values); // its layer is not here yet
      if (!values) return light.clear();
      return light.draw(values, grid.prefix, patchScale(values, grid));
    },
  };
}
