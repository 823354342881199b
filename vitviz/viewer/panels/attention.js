/** Panel Attention: heads of the layer, of all layers, one map as a whole, or every head as a dot. */

import { shares } from "../maths/attention.js";
import { mapCanvas } from "../parts/canvas.js";
import { colourTable, largest } from "../maths/colour.js";
import { caution } from "../parts/caution.js";
import { createHeadStatistics } from "./attention/headstatistics.js";
import { el, setText, show } from "../parts/dom.js";
import { createGallery, createMapButton } from "../parts/gallery.js";
import { createLegend } from "../parts/legend.js";
import { createAllHeads } from "./attention/allheads.js";
import { createPool, poolTables } from "./attention/poolview.js";
import { createMatrix } from "./attention/matrixview.js";
import { multiple } from "../maths/numbers.js";
import { LEAST_TIMES } from "../maths/scales.js";
import { headScale } from "../state/sharedscale.js";
import { createShares } from "../stage/readout.js";
import { tokenTable } from "../state/saves.js";
import { layersFrom, oneOf } from "../state/panels.js";
import { createWaiting, layerText } from "../parts/waiting.js";
import { choice, markChosen } from "../parts/widgets.js";
import { attentionFinding, headsFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { headName, tokenTitle } from "../text/words.js";

/** The views of the panel. */
const GALLERIES = ["layer", "all", "matrix", "dots"];

/** @type {import("../state/panels.js").PanelDescription} */
export const attention = {
  id: "attention",
  group: "see",
  first: true,
  overlay: "attention",
  needs: "layer",
  prefers: { gallery: oneOf(GALLERIES) },
  explains: ["layers"],
  lights: ({ selection: { layer }, taste, source }) =>
    ["all", "dots"].includes(taste.gallery) ? layersFrom(0, source.manifest.model.depth - 1) : [layer],
  create,
  saves,
  code,
};

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const heads = ["mean", ...Array(manifest.model.num_heads).keys()].map((head) => createHead(app, head));
  const few = heads.length <= 8;
  const gallery = createGallery({
    grid,
    label: t("headsOfLayer"),
    maps: heads.map(({ root }) => root),
    most: few ? 4 : 7,
    least: few ? "7.2em" : "5.6em",
  });
  const allHeads = createAllHeads(app);
  const matrix = createMatrix(app);
  const headStatistics = createHeadStatistics(app);
  const which = choice({
    label: t("gallery"),
    wrap: true,
    options: GALLERIES.map((value) => ({ value, text: t("gallery_" + value) })),
    onChoose: (value) => app.prefer({ gallery: value }),
  });
  const legend = createLegend(t);
  const bar = createShares(app);
  const pool = app.source.pooling.exists ? createPool(app) : null;
  const waiting = createWaiting(app);
  const foot = el("div", { class: "vv-foot" }, legend.root, bar.root);
  const root = el(
    "div",
    {},
    found,
    which.root,
    waiting.root,
    gallery,
    allHeads.root,
    matrix.root,
    headStatistics.root,
    intro,
    foot,
    caution(t),
    pool?.root,
  );

  return { root, render, destroy: allHeads.destroy };

  function render({ token, shown: over }) {
    const { layer, direction, head } = app.selection;
    const maps = app.source.maps.of(layer, token, direction);
    const shown = app.taste.gallery;
    which.set(shown);
    setText(intro, introText(shown, token));
    show(gallery, shown === "layer");
    show(allHeads.root, shown === "all");
    show(matrix.root, shown === "matrix");
    show(headStatistics.root, shown === "dots");
    // The whole map has its own legend, and the read-out above shows the same shares while
    // attention lies over the picture.
    show(legend.root, shown !== "matrix");
    show(foot, shown === "matrix" ? app.selection.overlay !== "attention" : shown !== "dots");
    if (pool) show(pool.root, shown === "layer");
    if (shown === "layer") pool?.render(token);
    if (shown === "all") allHeads.render(token);
    if (shown === "matrix") matrix.render();
    if (shown === "dots") headStatistics.render(token);
    setText(
      found,
      shown === "dots"
        ? headsFinding(app, app.source.statistics.here)
        : maps
          ? attentionFinding(app, app.source.maps.head(layer, token, direction, head), token)
          : "",
    );
    waiting.render(
      maps && !app.source.failure ? "" : layerText(app),
      app.source.failure !== null && over.missing !== "layer",
    );
    gallery.classList.toggle("vv-stale", !maps);
    if (!maps) return;
    const table = colourTable(app.taste.colours);
    if (shown === "layer") for (const small of heads) small.render(maps, table);
    const values = app.source.maps.head(layer, token, direction, head);
    legend.render({
      scale: headScale(app, layer, head, maps, values),
      colours: app.taste.colours,
      uniform: 1 / grid.tokens,
      note: t(app.taste.scale === "heads" ? "scaleShared" : app.facing() ? "scaleBoth" : "scaleEach", {
        least: LEAST_TIMES,
      }),
    });
    bar.render(app.selection.overlay === "attention" ? null : values, direction);
  }

  function introText(shown, token) {
    const { layer, direction, head } = app.selection;
    if (shown === "dots") return t("dotsIntro");
    if (shown === "matrix") {
      return t("matrixIntro", { layer, tokens: grid.tokens, head: headName(head, app) });
    }
    const stem = shown === "all" ? "everythingIntro_" : "attentionIntro_";
    return t(stem + direction, { token: tokenTitle(token, app), layer });
  }
}

/** One small map: a button that selects its head, with a bar of the shares of CLS, registers, patches. */
function createHead(app, head) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const map = mapCanvas(grid.rows, grid.cols);
  const kinds = shares(new Float32Array(grid.tokens), manifest.model.prefix_tokens).map(({ kind }) =>
    el("span", { class: "vv-part vv-" + kind }),
  );
  const peak = el("span", { title: t("peakTitle") });
  const root = createMapButton(
    {
      name: head === "mean" ? t("mean") : String(head),
      spoken: el("span", { class: "vv-live", text: headName(head, app) }),
      map: [map.canvas, el("span", { class: "vv-bar", "aria-hidden": "true" }, ...kinds)],
      onClick: () => app.select({ head }),
    },
    peak,
  );
  return {
    root,
    render(maps, table) {
      const start = head === "mean" ? 0 : head * grid.tokens;
      const own = head === "mean" ? maps.mean : maps.rows.subarray(start, start + grid.tokens);
      map.draw(own, grid.prefix, headScale(app, app.selection.layer, head, maps, own), table);
      shares(own, manifest.model.prefix_tokens).forEach(({ share }, at) => {
        kinds[at].style.width = 100 * share + "%";
      });
      setText(peak, t("times", { times: multiple(largest(own, grid.prefix, grid.tokens) * grid.tokens) }));
      markChosen(root, app.selection.head === head);
    },
  };
}

/** The selected map, or the maps of every layer, the whole map, or the statistics of every head. */
function code({ token, layer, head, direction }, { manifest }, { gallery }) {
  return codeOf(manifest, "attention_" + gallery, { token, layer, head, direction });
}

/** Saves what the panel shows: heads of the layer or of all layers, a whole map, or head statistics. */
function saves(app, { token }) {
  const { layer, direction, head } = app.selection;
  if (app.taste.gallery === "dots") {
    const found = app.source.statistics.get();
    return { tables: found ? { statistics: headsTable(found) } : {}, figures: ["statistics"] };
  }
  if (app.taste.gallery === "matrix") {
    const matrix = app.source.matrices.of(layer, head);
    return {
      tables: matrix ? { matrix: matrixTable(matrix, app.source.grid.tokens) } : {},
      figures: app.source.matrices.possible ? ["matrix"] : [],
    };
  }
  if (app.taste.gallery === "all") {
    // Layers that are not here have no columns; the figure is drawn by the host, which has all layers.
    const here = [...Array(app.source.manifest.model.depth).keys()].filter((at) =>
      app.source.store.ready.has(at),
    );
    const columns = Object.assign(
      {},
      ...here.map((at) => headColumns(app, app.source.maps.of(at, token, direction), "layer_" + at + "_")),
    );
    return { tables: here.length > 0 ? { wall: tokenTable(app, columns) } : {}, figures: ["wall"] };
  }
  const maps = app.source.maps.of(layer, token, direction);
  const pools = app.source.pooling?.exists;
  return {
    tables: {
      ...(maps ? { attention: tokenTable(app, headColumns(app, maps, "")) } : {}),
      ...(pools ? poolTables(app) : {}),
    },
    figures: pools ? ["heads", "pooling"] : ["heads"],
  };
}

/** The mean and every head of a layer, by name. */
function headColumns({ source: { manifest, grid } }, maps, stem) {
  const columns = { [stem + "mean"]: maps.mean };
  for (let head = 0; head < manifest.model.num_heads; head++) {
    columns[stem + "head_" + head] = maps.rows.subarray(head * grid.tokens, (head + 1) * grid.tokens);
  }
  return columns;
}

function headsTable({ entropy, distance }) {
  const rows = entropy.flatMap((values, layer) =>
    values.map((value, head) => [layer, head, value, distance[layer][head]]),
  );
  return { columns: ["layer", "head", "entropy", "distance"], rows };
}

/** A row for every query, a column for every key. */
function matrixTable(matrix, tokens) {
  const all = [...Array(tokens).keys()];
  const rows = all.map((query) => [query, ...matrix.subarray(query * tokens, (query + 1) * tokens)]);
  return { columns: ["query", ...all.map((key) => "key_" + key)], rows };
}
