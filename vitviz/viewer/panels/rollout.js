/** Panel Rollout: relevance of every token for the selected one, followed through the layers. */

import { mapCanvas } from "../parts/canvas.js";
import { caution } from "../parts/caution.js";
import { colourTable } from "../maths/colour.js";
import { el, setText, show } from "../parts/dom.js";
import { createGallery, createMapButton } from "../parts/gallery.js";
import { createLegend } from "../parts/legend.js";
import { percent } from "../maths/numbers.js";
import { cited } from "../parts/cited.js";
import { LEAST_TIMES, patchScale } from "../maths/scales.js";
import { opposite, scaleOfBoth } from "../state/sharedscale.js";
import { createShares } from "../stage/readout.js";
import { LIMITS } from "../engine/tables.js";
import { FUSIONS } from "../maths/rollout.js";
import { layersFrom } from "../state/panels.js";
import { tokenTable } from "../state/saves.js";
import { button, choice, dressPlayer, markChosen, slider } from "../parts/widgets.js";
import { reasonOf } from "../text/refusal.js";
import { rolloutFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { tokenName, tokenTitle } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const rollout = {
  id: "rollout",
  group: "why",
  overlay: "rollout",
  link: ["first", "residual", "fusion"],
  lights: ({ selection: { first, layer } }) => layersFrom(first, layer),
  create,
  saves,
  code,
};

/** Code for the shares of all tokens in one token, through the layers. */
function code({ token, layer, first, residual, fusion }, { manifest }) {
  return codeOf(manifest, "rollout", { token, layer, first, residual, fusion });
}

/** The film shows each layer for this long. */
const FRAME_MS = 700;

/**
 * The strip of all layers is drawn at every move of the pointer up to this many multiplications (about 8 ms).
 */
const MOST_PER_HOVER = 8e6;

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const last = manifest.model.depth - 1;
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const first = slider({
    label: t("firstLayer"),
    min: 0,
    max: last,
    step: 1,
    format: (value) => t("ofCount", { value, last }),
    onInput: (value) => app.select({ first: value }),
  });
  const residual = slider({
    label: t("residual"),
    min: 0,
    max: 100,
    step: 1,
    format: (value) => (value / 100).toFixed(2),
    onInput: (value) => app.select({ residual: value / 100 }),
  });
  const fusion = choice({
    label: t("fusion"),
    options: FUSIONS.map((value) => ({ value, text: t("fusion_" + value) })),
    onChoose: (value) => app.select({ fusion: value }),
  });
  const film = createFilm(app, last);
  const progress = el("progress", { max: "1", "aria-label": t("building") });
  const message = el("p", { class: "vv-note", role: "status" });
  const again = button({ text: t("tryAgain"), onClick: () => app.source.relevance.retry() });
  const strip = createStrip(app);
  const legend = createLegend(t);
  const bar = createShares(app);
  const formula = el("p", { class: "vv-formula" });
  const shown = el("div", {}, strip.root, el("div", { class: "vv-foot" }, legend.root, bar.root));
  const root = el(
    "div",
    {},
    found,
    intro,
    el(
      "div",
      { class: "vv-knobs" },
      first.root,
      residual.root,
      el("div", { class: "vv-pair vv-on-a-line" }, fusion.root, film.button),
    ),
    formula,
    progress,
    message,
    again,
    shown,
    cited(t("rolloutSource"), "arXiv:2005.00928"),
    caution(t),
  );

  return {
    root,
    render,
    destroy() {
      strip.stop();
      film.stop();
    },
  };

  function render({ token }) {
    const { selection } = app;
    const { relevance } = app.source;
    const possible = relevance.possible;
    first.set(selection.first, possible);
    residual.set(Math.round(100 * selection.residual), possible);
    fusion.set(selection.fusion, possible);
    film.button.disabled = !possible || last === 0;
    setText(intro, t("rolloutIntro", { token: tokenTitle(token, app) }));
    setText(
      formula,
      t("rolloutFormula", {
        residual: selection.residual.toFixed(2),
        rest: (1 - selection.residual).toFixed(2),
        first: selection.first,
        layer: selection.layer,
      }),
    );
    const question = { token, ...pick(selection) };
    const values = relevance.of(question);
    renderProgress(values);
    show(shown, values !== null);
    setText(found, values ? rolloutFinding(app, values, token) : "");
    if (!values) return;
    legend.render({
      scale: stepScale(app, app.selection.layer),
      colours: app.taste.colours,
      uniform: 1 / grid.tokens,
      note: t(app.facing() ? "scaleBoth" : "scaleEachLayer", { least: LEAST_TIMES }),
    });
    bar.render(app.selection.overlay === "rollout" ? null : values);
    strip.render(question);
  }

  function renderProgress(values) {
    const { relevance } = app.source;
    const building = relevance.building && !values;
    const asking = relevance.ask !== null && !values && !relevance.error;
    show(progress, building || asking);
    if (building) progress.value = relevance.share;
    else progress.removeAttribute("value"); // the progress of the server is unknown
    let text = "";
    if (building) text = t("matricesBuilding", { share: percent(relevance.share) });
    else if (!relevance.possible && relevance.brought) {
      text = values ? "" : t("rolloutBrought", { token: tokenName(manifest.pass.first.token, app) });
    } else if (!relevance.possible) {
      text = t("rolloutTooLarge", { tokens: grid.tokens, most: LIMITS.rollout_tokens });
    } else if (!values && relevance.error) {
      text = t("rolloutFailed", { reason: reasonOf(relevance.error, app.language) });
    } else if (!values) text = t("missing_asking");
    setText(message, text);
    show(message, text !== "");
    show(again, !values && Boolean(relevance.error));
  }
}

/** Plays the layers from the first to the last, or stops. It never starts by itself. */
function createFilm(app, last) {
  let timer = 0;
  const play = button({ sign: "play", title: app.t("play"), pressed: false, onClick: () => run(!timer) });
  return { button: play, stop: () => clearInterval(timer) };

  function run(on) {
    clearInterval(timer);
    timer = 0;
    if (on) {
      const { layer, first } = app.selection;
      app.select({ layer: layer === last ? first : layer, overlay: "rollout" });
      timer = setInterval(() => {
        const { layer: now, panel } = app.selection;
        if (panel !== rollout.id || now === last) run(false);
        else if (app.source.relevance.of({ token: app.pointer.shownToken(), ...pick(app.selection) })) {
          app.select({ layer: now + 1 });
          if (app.selection.layer === now) run(false); // the first analysis has no such layer
        }
      }, FRAME_MS);
    }
    dressPlayer(play, on, app.t(on ? "pause" : "play"));
  }
}

/**
 * The maps of all layers, which cost depth^2 / 2 products: drawn at once if that is cheap, else when the
 * pointer rests.
 */
function createStrip(app) {
  const {
    grid,
    manifest: {
      model: { depth },
    },
  } = app.source;
  const layers = Array.from({ length: depth }, (_, layer) => createStep(app, layer));
  const root = createGallery({
    grid,
    label: app.t("rolloutStrip"),
    maps: layers.map((layer) => layer.root),
    most: 6,
    least: "4.5em",
  });
  let late = 0;
  let drawn = ""; // the question whose maps are drawn
  return {
    root,
    stop: () => clearTimeout(late),
    render(question) {
      clearTimeout(late);
      const key =
        JSON.stringify({ ...question, layer: 0 }) + app.taste.colours + stepScale(app, question.layer).max;
      for (const step of layers) step.mark();
      if (key === drawn) return;
      if (app.source.relevance.ask) {
        // Each layer would be one request: only the selected one is asked for.
        for (const step of layers) step.render(question, step.layer === question.layer);
        return;
      }
      const draw = () => {
        drawn = key;
        for (const step of layers) step.render(question, step.layer >= question.first);
      };
      const cost = 0.5 * (depth - question.first) ** 2 * grid.tokens ** 2;
      if (cost <= MOST_PER_HOVER) draw();
      else late = setTimeout(draw, 120);
    },
  };
}

function pick({ layer, first, residual, fusion }) {
  return { layer, first, residual, fusion };
}

/** The scale of the map after a layer, in both analyses. */
function stepScale(app, layer) {
  return scaleOfBoth(app, (of) => {
    const at = opposite(app, of, "layer", layer);
    const values =
      at < of.source.manifest.model.depth
        ? of.source.relevance.of({ ...pick(of.selection), token: of.pointer.shownToken(), layer: at })
        : null;
    return values && patchScale(values, of.source.grid);
  });
}

/** One layer of the strip: relevance after this layer; a click selects it as the last layer. */
function createStep(app, layer) {
  const { t } = app;
  const { grid } = app.source;
  const map = mapCanvas(grid.rows, grid.cols);
  const root = createMapButton({
    name: String(layer),
    spoken: el("span", { class: "vv-live", text: t("afterLayer", { layer }) }),
    map: [map.canvas],
    onClick: () => app.select({ layer }),
  });
  return {
    root,
    layer,
    render(question, wanted) {
      const values = wanted ? app.source.relevance.of({ ...question, layer }) : null;
      if (values) map.draw(values, grid.prefix, stepScale(app, layer), colourTable(app.taste.colours));
      else map.clear();
    },
    mark() {
      const { selection } = app;
      markChosen(root, selection.layer === layer);
      root.disabled = layer < selection.first;
    },
  };
}

/** Saves rollout after every layer; with many tokens, only the one that the host computed. */
function saves(app, { token }) {
  const { first, layer, residual, fusion } = app.selection;
  const columns = {};
  for (let last = app.source.relevance.ask ? layer : first; last <= layer; last++) {
    const values = app.source.relevance.of({ token, layer: last, first, residual, fusion });
    if (values) columns["up_to_layer_" + last] = values;
  }
  const known = Object.keys(columns).length > 0;
  return { tables: known ? { rollout: tokenTable(app, columns) } : {}, figures: ["rollout"] };
}
