/** Panel Features: the tokens of a layer as colours (PCA), their cosine similarity, and their norms. */

import { mapCanvas } from "../parts/canvas.js";
import { colourTable } from "../maths/colour.js";
import { el, setText, show } from "../parts/dom.js";
import { layerFeatures, outliers } from "../data/features.js";
import { createGallery, createMapButton } from "../parts/gallery.js";
import { createLegend } from "../parts/legend.js";
import { digits, multiple, percent, signed } from "../maths/numbers.js";
import { cited } from "../parts/cited.js";
import { similarityScale } from "../maths/scales.js";
import { scaleOfBoth } from "../state/sharedscale.js";
import { oneOf } from "../state/panels.js";
import { choice, markChosen } from "../parts/widgets.js";
import { createPatchMap } from "../parts/patchmap.js";
import { explore } from "../parts/pointing.js";
import { tokenTable } from "../state/saves.js";
import { createWaiting, tokensText } from "../parts/waiting.js";
import { featuresFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { tokenName, tokenTitle } from "../text/words.js";

/** Values on the picture: the PCA as colours, also behind the last norm, or the similarity to one token. */
const PAINTED = ["colours", "normed", "similarity"];

/** @type {import("../state/panels.js").PanelDescription} */
export const features = {
  id: "features",
  group: "see",
  overlay: "features",
  prefers: { painted: oneOf(PAINTED) },
  painting,
  lights: ({ selection: { layer } }) => [layer],
  create,
  saves,
  code,
};

/**
 * The colours, unless two analyses are compared: two colours have no difference.
 * @type {import("../state/panels.js").PanelDescription["painting"]}
 */
function painting({ taste, selection, source, facing }) {
  if (taste.painted === "similarity" || facing()) return null;
  const kind = source.features.normed && taste.painted === "normed" ? "normed" : "colours";
  const summary = source.features.summary(kind === "normed");
  return { kind, colours: summary && layerFeatures(summary, selection.layer, source.manifest).colours };
}

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const which = choice({
    label: t("painted"),
    options: PAINTED.filter((value) => value !== "normed" || app.source.features.normed).map((value) => ({
      value,
      text: t("painted_" + value),
    })),
    onChoose: (value) => {
      app.prefer({ painted: value });
      app.select({ overlay: "features" });
    },
  });
  const { grid, manifest } = app.source;
  const times = manifest.model.outlier_times;
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const [colours, similar, norms] = ["featuresColours", "featuresSimilar", "featuresNorms"].map((key) =>
    createMap(app, key, (token) => {
      pointed = token;
      renderReading();
    }),
  );
  const explained = el("p", { class: "vv-note" });
  const [similarLegend, normLegend] = [createLegend(t), createLegend(t)];
  colours.root.append(explained);
  similar.root.append(similarLegend.root);
  norms.root.append(normLegend.root);
  const reading = el("p", { class: "vv-under" });
  const count = el("p", {});
  const prefix = el("p", { class: "vv-note" });
  const waiting = createWaiting(app);
  const maps = el("div", { class: "vv-figures vv-thirds" }, colours.root, similar.root, norms.root);
  const strip = createStrip(app, times);
  const root = el(
    "div",
    {},
    found,
    which.root,
    intro,
    waiting.root,
    maps,
    reading,
    count,
    prefix,
    el("h4", { text: t("featuresStrip") }),
    strip.root,
    el("p", { class: "vv-note", text: t("featuresStripNote") }),
    about(t, times),
  );
  let pointed = null;
  let shown = { layer: -1 }; // the drawings of the layer that do not depend on the token

  return { root, render };

  function render({ token, shown: over }) {
    const { layer } = app.selection;
    const normed = isNormed(app);
    const summary = app.source.features.summary(normed);
    const values = app.source.features.similarity(layer, token);
    colours.title(t(normed ? "painted_normed" : "featuresColours"));
    setText(
      intro,
      t("featuresIntro", { token: tokenTitle(token, app), layer, dim: manifest.model.embed_dim }),
    );
    waiting.render(
      summary && values ? "" : tokensText(app),
      app.source.features.error !== null && over.missing !== "tokens",
    );
    maps.classList.toggle("vv-stale", !summary);
    similar.root.classList.toggle("vv-stale", !values);
    similar.title(t("featuresSimilar", { token: tokenName(token, app) }));
    for (const map of [colours, similar, norms]) map.mark(token);
    show(which.root, !app.facing());
    which.set(app.taste.painted === "normed" && !normed ? "colours" : app.taste.painted);
    setText(found, values ? featuresFinding(app, values, token) : "");
    if (values) renderSimilar(values);
    const scale = scaleOfBoth(app, lengths, false);
    const stale =
      shown.layer !== layer ||
      shown.summary !== summary ||
      shown.table !== app.taste.colours ||
      shown.min !== scale?.min ||
      shown.max !== scale?.max;
    if (summary && stale) renderLayer(summary, layer, scale);
    strip.mark();
    shown.values = values;
    renderReading();
  }

  function renderSimilar(values) {
    const scale = scaleOfBoth(app, likeness, false);
    similar.draw(values, grid.prefix, scale, colourTable(app.taste.colours));
    similarLegend.render({ scale, colours: app.taste.colours, uniform: null, decimals: 3 });
  }

  function renderLayer(summary, layer, scale) {
    const features = layerFeatures(summary, layer, manifest);
    const patchNorms = features.norms.subarray(grid.prefix);
    const { median, above } = outliers(patchNorms, times);
    shown = { layer, summary, table: app.taste.colours, ...scale, norms: features.norms, median };
    colours.drawColours(features.colours);
    const share = (axis) => percent(features.explained[axis]);
    setText(
      explained,
      t("featuresExplained", {
        red: share(0),
        green: share(1),
        blue: share(2),
        sum: percent(features.explained[0] + features.explained[1] + features.explained[2]),
      }),
    );
    norms.draw(features.norms, grid.prefix, scale, colourTable(app.taste.colours));
    normLegend.render({ scale, colours: app.taste.colours, uniform: null, ends: digits });
    norms.outline(above, (patch) =>
      t("featuresOutlier", {
        name: tokenName(patch + grid.prefix, app),
        norm: digits(patchNorms[patch]),
        times: multiple(patchNorms[patch] / median),
      }),
    );
    setText(
      count,
      t("featuresOutliers", {
        count: above.length,
        patches: patchNorms.length,
        times,
        median: digits(median),
      }),
    );
    show(prefix, grid.prefix > 0);
    setText(
      prefix,
      t("featuresPrefix", {
        norms: manifest.model.prefix_tokens
          .map((_, token) =>
            t("featuresPrefixNorm", { name: tokenName(token, app), norm: digits(features.norms[token]) }),
          )
          .join(" · "),
      }),
    );
    strip.draw(summary);
  }

  /** Writes the numbers of the patch under the pointer, here or on the stage, else of the selected one. */
  function renderReading() {
    const token = pointed ?? app.pointer.pointed ?? app.pointer.shownToken();
    const { values, norms: all, median } = shown;
    if (!values || !all) return setText(reading, "");
    return setText(
      reading,
      t("featuresReading", {
        name: tokenName(token, app),
        value: signed(values[token], 3).trim(),
        norm: digits(all[token]),
        times: multiple(all[token] / median),
      }),
    );
  }
}

/** Whether colours are of the tokens behind the last norm, which some models do not have. */
const isNormed = ({ taste, source }) => taste.painted === "normed" && source.features.normed !== null;

/** The scale of the similarities that are shown. */
function likeness({ source, selection, pointer }) {
  const values = source.features.similarity(selection.layer, pointer.shownToken());
  return values && similarityScale(values, source.grid);
}

/** The scale of the norms of the patches after the selected layer. */
function lengths(app) {
  const { source, selection } = app;
  const summary = source.features.summary(isNormed(app));
  if (!summary) return null;
  const norms = layerFeatures(summary, selection.layer, source.manifest).norms.subarray(source.grid.prefix);
  return { min: Math.min(...norms), max: Math.max(...norms) };
}

/** Notes on how the pictures are made and what they do not show. */
function about(t, times) {
  return el(
    "details",
    { class: "vv-about-maps" },
    el("summary", { text: t("featuresAbout") }),
    ...["featuresNotePca", "featuresNoteCosine"].map((key) => el("p", { class: "vv-note", text: t(key) })),
    cited(t("featuresNoteOutliers", { times }), "arXiv:2309.16588"),
  );
}

/** A map with a title, on which tokens can be pointed at, selected and marked. */
function createMap(app, key, onPoint) {
  const { t } = app;
  const { grid } = app.source;
  const { frame, put, tokenOf, mark, draw, drawColours } = createPatchMap(grid);
  const marks = el("div", { class: "vv-marks" });
  const title = el("figcaption", { text: t(key, { token: "" }) });
  frame.append(marks);
  explore(frame, tokenOf, app);
  frame.addEventListener("pointermove", (event) => onPoint(tokenOf(event)));
  frame.addEventListener("pointerleave", () => onPoint(null));
  return {
    root: el("figure", { class: "vv-figure" }, title, frame),
    draw,
    drawColours,
    mark,
    title: (text) => setText(title, text),
    outline(patches, describe) {
      marks.replaceChildren(
        ...patches.map((patch) => {
          const outlier = el("span", { class: "vv-box vv-outlier", title: describe(patch) });
          put(outlier, patch + grid.prefix);
          return outlier;
        }),
      );
    },
  };
}

/** One small PCA picture for each layer. */
function createStrip(app, times) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const steps = Array.from({ length: manifest.model.depth }, (_, layer) => {
    const map = mapCanvas(grid.rows, grid.cols);
    const note = el("span", { "aria-hidden": "true" });
    const spoken = el("span", { class: "vv-live" });
    const root = createMapButton(
      { name: String(layer), spoken, map: [map.canvas], onClick: () => app.select({ layer }) },
      note,
    );
    return { map, note, spoken, root, layer };
  });
  const root = createGallery({
    grid,
    label: t("featuresStrip"),
    maps: steps.map((step) => step.root),
    most: 4,
    least: "6.4em",
  });
  let drawn = null;
  return {
    root,
    draw(summary) {
      if (drawn === summary) return;
      drawn = summary;
      for (const { map, note, spoken, layer } of steps) {
        const features = layerFeatures(summary, layer, manifest);
        const { median, above } = outliers(features.norms.subarray(grid.prefix), times);
        map.drawColours(features.colours);
        setText(note, t("featuresLayerNote", { median: digits(median), count: above.length }));
        setText(spoken, t("featuresLayer", { layer, count: above.length }));
      }
    },
    mark() {
      for (const { root: node, layer } of steps) markChosen(node, layer === app.selection.layer);
    },
  };
}

/** Colours of the patches, similarity of the selected token to all, and the norms of all. */
function code({ token, layer }, source, taste) {
  const { manifest } = source;
  if (!isNormed({ taste, source })) return codeOf(manifest, "features", { token, layer });
  const code = codeOf(manifest, { vitviz: ["normed"], torch: [] }, { token, layer });
  return code && { ...code, torch: null };
}

function saves(app, { token }) {
  const { layer } = app.selection;
  const normed = isNormed(app);
  const figures = normed ? [] : ["features"]; // the host draws without the model, and so without its norm
  const { features } = app.source;
  const [summary, similar] = [features.summary(normed), features.similarity(layer, token)];
  if (!summary || !similar) return { tables: {}, figures };
  const { prefix, tokens } = app.source.grid;
  const { scores, norms } = layerFeatures(summary, layer, app.source.manifest);
  const { above } = outliers(norms.subarray(prefix), app.source.manifest.model.outlier_times);
  const ofPatches = (value) =>
    Array.from({ length: tokens }, (_, at) => (at < prefix ? NaN : value(at - prefix)));
  return {
    figures,
    tables: {
      features: tokenTable(app, {
        cosine: similar,
        norm: norms,
        outlier: ofPatches((patch) => Number(above.includes(patch))),
        pc1: ofPatches((patch) => scores[3 * patch]),
        pc2: ofPatches((patch) => scores[3 * patch + 1]),
        pc3: ofPatches((patch) => scores[3 * patch + 2]),
      }),
    },
  };
}
