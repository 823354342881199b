/** Panel Attention: every head of the layer as a small map, beside the mean of them all. */

import { shares } from "../attention.js";
import { mapCanvas } from "../canvas.js";
import { colourTable } from "../colour.js";
import { caution } from "../caution.js";
import { el, setText, show } from "../dom.js";
import { createLegend } from "../legend.js";
import { digits } from "../numbers.js";
import { attentionScale } from "../overlay.js";
import { createShares } from "../readout.js";
import { tokenTitle } from "../words.js";

export const attention = { id: "attention", create };

function create(app) {
  const { t, manifest, grid } = app;
  const intro = el("p", { class: "vv-intro" });
  const heads = ["mean", ...Array(manifest.num_heads).keys()].map((head) => createHead(app, head));
  const gallery = el("div", { class: "vv-gallery", role: "group", "aria-label": t("headsOfLayer") },
    ...heads.map(({ root }) => root));
  gallery.style.setProperty("--vv-ratio", grid.cols / grid.rows);
  const legend = createLegend(t);
  const bar = createShares(app);
  const waiting = el("p", { class: "vv-note", role: "status" });
  const error = el("p", { class: "vv-note", text: t("roundingError", {
    error: digits(manifest.attention_error) }) });
  const root = el("div", {}, intro, waiting, gallery,
    el("div", { class: "vv-foot" }, legend.root, bar.root), error, caution(t));

  return { root, render };

  function render({ token }) {
    const { layer, direction, head } = app.selection;
    const maps = app.maps.of(layer, token, direction);
    setText(intro, t("attentionIntro_" + direction, { token: tokenTitle(token, app), layer }));
    setText(waiting, maps ? "" : t("layerLoading", { layer }));
    show(waiting, !maps);
    gallery.classList.toggle("vv-stale", !maps);
    if (!maps) return;
    const table = colourTable(app.taste.colours);
    for (const small of heads) small.render(maps, table);
    const values = app.maps.head(layer, token, direction, head);
    legend.render({ scale: attentionScale(app, maps, values), colours: app.taste.colours,
      uniform: 1 / grid.tokens, note: app.taste.scale === "heads" ? t("scaleShared") : t("scaleEach") });
    bar.render(values, direction);
  }
}

/** One small map: a button that chooses its head, with a bar of where its attention goes. */
function createHead(app, head) {
  const { t, manifest, grid } = app;
  const map = mapCanvas(grid.rows, grid.cols);
  const kinds = shares(new Float32Array(grid.tokens), manifest.prefix_tokens).map(({ kind }) =>
    el("span", { class: "vv-part vv-" + kind }));
  const name = head === "mean" ? t("mean") : String(head);
  const root = el("button", {
    type: "button", class: "vv-head", "aria-pressed": "false",
    "aria-label": head === "mean" ? t("headMean") : t("headNumber", { head }),
    onclick: () => app.select({ head }),
  }, map.canvas, el("span", { class: "vv-bar", "aria-hidden": "true" }, ...kinds),
  el("span", { class: "vv-head-name", text: name }));
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
      const chosen = app.selection.head === head;
      root.setAttribute("aria-pressed", String(chosen));
      root.classList.toggle("vv-chosen", chosen);
    },
  };
}
