/** Panel Attention: heads of the layer, of all layers, one map as a whole, or every head as a dot. */

import { shares } from "../maths/attention.js";
import { mapCanvas } from "../parts/canvas.js";
import { colourTable } from "../maths/colour.js";
import { caution } from "../parts/caution.js";
import { createDots } from "../parts/dots.js";
import { el, setText, show } from "../parts/dom.js";
import { createGallery } from "../parts/gallery.js";
import { createLegend } from "../parts/legend.js";
import { createEverything } from "../parts/everything.js";
import { createMatrix } from "../parts/matrixview.js";
import { digits, multiple } from "../maths/numbers.js";
import { attentionScale, patchScale } from "../maths/overlay.js";
import { createShares } from "../parts/readout.js";
import { attentionSaves } from "../data/saves.js";
import { GALLERIES } from "../state/state.js";
import { createWaiting, layerText } from "../parts/waiting.js";
import { choice } from "../parts/widgets.js";
import { tokenTitle } from "../text/words.js";

export const attention = { id: "attention", create, saves: attentionSaves };

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const intro = el("p", { class: "vv-intro" });
  const heads = ["mean", ...Array(manifest.num_heads).keys()].map((head) => createHead(app, head));
  const few = heads.length <= 8;
  const gallery = createGallery({ grid, label: t("headsOfLayer"), maps: heads.map(({ root }) => root),
    most: few ? 4 : 7, least: few ? "7.2em" : "5.6em" });
  const everything = createEverything(app);
  const matrix = createMatrix(app);
  const dots = createDots(app);
  const which = choice({
    label: t("gallery"), wrap: true,
    options: GALLERIES.map((value) => ({ value, text: t("gallery_" + value) })),
    onChoose: (value) => app.prefer({ gallery: value }),
  });
  const legend = createLegend(t);
  const bar = createShares(app);
  const waiting = createWaiting(app);
  const error = el("p", { class: "vv-note", text: t("roundingError", {
    error: digits(manifest.attention_error) }) });
  const foot = el("div", { class: "vv-foot" }, legend.root, bar.root);
  const root = el("div", {}, which.root, intro, waiting.root, gallery, everything.root, matrix.root,
    dots.root, foot, error, caution(t));

  return { root, render, destroy: everything.destroy };

  function render({ token, shown: over }) {
    const { layer, direction, head } = app.selection;
    const maps = app.source.maps.of(layer, token, direction);
    const shown = app.taste.gallery;
    which.set(shown);
    setText(intro, introText(shown, token));
    show(gallery, shown === "layer");
    show(everything.root, shown === "all");
    show(matrix.root, shown === "matrix");
    show(dots.root, shown === "dots");
    show(error, shown !== "dots");
    // The whole map has its own legend, and the read-out above shows the same shares while
    // attention lies over the picture.
    show(legend.root, shown !== "matrix");
    show(foot, shown === "matrix" ? app.selection.overlay !== "attention" : shown !== "dots");
    if (shown === "all") everything.render(token);
    if (shown === "matrix") matrix.render();
    if (shown === "dots") dots.render(token);
    waiting.render(maps ? "" : layerText(app), app.source.failure !== null && over.missing !== "layer");
    gallery.classList.toggle("vv-stale", !maps);
    if (!maps) return;
    const table = colourTable(app.taste.colours);
    if (shown === "layer") for (const small of heads) small.render(maps, table);
    const values = app.source.maps.head(layer, token, direction, head);
    legend.render({ scale: attentionScale(app, maps, values), colours: app.taste.colours,
      uniform: 1 / grid.tokens, note: app.taste.scale === "heads" ? t("scaleShared") : t("scaleEach") });
    bar.render(app.selection.overlay === "attention" ? null : values, direction);
  }

  function introText(shown, token) {
    const { layer, direction, head } = app.selection;
    if (shown === "dots") return t("dotsIntro");
    if (shown === "matrix") {
      return t("matrixIntro", { layer, tokens: grid.tokens,
        head: head === "mean" ? t("headMean") : t("headNumber", { head }) });
    }
    const stem = shown === "all" ? "everythingIntro_" : "attentionIntro_";
    return t(stem + direction, { token: tokenTitle(token, app), layer });
  }
}

/** One small map: a button that chooses its head, with a bar of where its attention goes. */
function createHead(app, head) {
  const { t } = app;
  const { manifest, grid } = app.source;
  const map = mapCanvas(grid.rows, grid.cols);
  const kinds = shares(new Float32Array(grid.tokens), manifest.prefix_tokens).map(({ kind }) =>
    el("span", { class: "vv-part vv-" + kind }));
  const name = head === "mean" ? t("mean") : String(head);
  const peak = el("span", { title: t("peakTitle") });
  const root = el("button", {
    type: "button", class: "vv-head", "aria-pressed": "false",
    onclick: () => app.select({ head }),
  }, el("span", { class: "vv-live", text: head === "mean" ? t("headMean") : t("headNumber", { head }) }), map.canvas, el("span", { class: "vv-bar", "aria-hidden": "true" }, ...kinds),
  el("span", { class: "vv-head-line" }, el("span", { class: "vv-head-name", "aria-hidden": "true", text: name }), peak));
  return {
    root,
    render(maps, table) {
      const values = head === "mean" ? maps.mean : maps.rows;
      const offset = head === "mean" ? 0 : head * grid.tokens;
      const own = head === "mean" ? maps.mean : maps.rows.subarray(offset, offset + grid.tokens);
      map.draw(values, offset + grid.prefix, attentionScale(app, maps, own), table);
      shares(own, manifest.prefix_tokens).forEach(({ share }, at) => {
        kinds[at].style.width = 100 * share + "%";
      });
      setText(peak, t("times", { times: multiple(patchScale(own, grid).max * grid.tokens) }));
      const chosen = app.selection.head === head;
      root.setAttribute("aria-pressed", String(chosen));
      root.classList.toggle("vv-chosen", chosen);
    },
  };
}
