/** The whole attention map of the selected head: a row for every query, a column for every key. */

import { colourTable, paint } from "../../maths/colour.js";
import { LEAST_TIMES, leastEnd } from "../../maths/scales.js";
import { el, setText, show } from "../../parts/dom.js";
import { createLegend } from "../../parts/legend.js";
import { MOST_MATRIX_TOKENS } from "../../data/matrix.js";
import { percent } from "../../maths/numbers.js";
import { sampledQuantile } from "../../maths/quantile.js";
import { tokenName, valueText } from "../../text/words.js";

/** The colour scale ends at this quantile of all values; larger values have its last colour. */
const SHOWN = 0.995;

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createMatrix(app) {
  const { t } = app;
  const { grid } = app.source;
  const { tokens, prefix } = grid;
  if (!app.source.matrices.possible) {
    const text = t("matrixTooLarge", { tokens, most: MOST_MATRIX_TOKENS });
    return { root: el("p", { class: "vv-note", text }), render() {} };
  }
  const canvas = el("canvas", { class: "vv-map", width: tokens, height: tokens });
  canvas.classList.toggle("vv-fine", tokens > 400);
  const context = canvas.getContext("2d");
  const rowLine = el("span", { class: "vv-cross vv-cross-row" });
  const colLine = el("span", { class: "vv-cross vv-cross-col" });
  const border = prefix > 0 ? el("span", { class: "vv-prefix-border" }) : null;
  if (border) border.style.setProperty("--vv-at", (100 * prefix) / tokens + "%");
  const frame = el(
    "div",
    {
      class: "vv-map-frame vv-matrix-frame",
      tabindex: "0",
      role: "application",
      "aria-label": t("matrixLabel"),
      "aria-roledescription": t("matrixRole"),
    },
    canvas,
    border,
    rowLine,
    colLine,
  );
  const progress = el("progress", { max: "1", "aria-label": t("building") });
  const reading = el("p", { class: "vv-under" });
  const legend = createLegend(t);
  const root = el(
    "div",
    { class: "vv-matrix" },
    el("div", { class: "vv-axis-name", text: t("matrixAxes") }),
    frame,
    progress,
    reading,
    legend.root,
  );
  let drawn = "";
  let scale = { min: 0, max: 1 };

  const cellOf = (event) => {
    const box = canvas.getBoundingClientRect();
    const key = Math.floor(((event.clientX - box.left) / box.width) * tokens);
    const query = Math.floor(((event.clientY - box.top) / box.height) * tokens);
    const inside = (token) => token >= 0 && token < tokens;
    return inside(key) && inside(query) ? { query, key } : null;
  };
  frame.addEventListener("pointermove", (event) => app.pointer.pointPair(cellOf(event)));
  frame.addEventListener("pointerleave", () => app.pointer.pointPair(null));
  frame.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (cell) keep(cell);
  });
  frame.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const { query, key } = app.pointer.pair();
    const inside = (token) => Math.max(0, Math.min(tokens - 1, token));
    keep({ query: inside(query + step[0]), key: inside(key + step[1]) });
  });
  return { root, render };

  function keep({ query, key }) {
    app.pointer.pointPair(null);
    const [token, partner] = app.selection.direction === "from" ? [query, key] : [key, query];
    app.select({ token, partner, pinned: true });
  }

  function render() {
    const { layer, head } = app.selection;
    const matrix = app.source.matrices.of(layer, head);
    show(progress, !matrix && app.source.store.ready.has(layer));
    progress.value = app.source.matrices.share;
    frame.classList.toggle("vv-stale", !matrix);
    mark();
    if (!matrix) {
      drawn = "";
      setText(reading, t("matrixBuilding", { share: percent(app.source.matrices.share) }));
      return;
    }
    const wanted = [layer, head, app.taste.colours].join("/");
    if (wanted !== drawn) {
      drawn = wanted;
      scale = { min: 0, max: Math.max(sampledQuantile(matrix, SHOWN), leastEnd(tokens)) };
      paintAll(matrix);
    }
    const { query, key } = app.pointer.pair();
    const value = matrix[query * tokens + key];
    setText(
      reading,
      t("matrixReading", {
        query: tokenName(query, app),
        key: tokenName(key, app),
        value: valueText(value, tokens, t),
      }),
    );
    legend.render({
      scale,
      colours: app.taste.colours,
      uniform: 1 / tokens,
      marked: value,
      note: t("scaleMatrix", { share: percent(1 - SHOWN), least: LEAST_TIMES }),
    });
  }

  function paintAll(matrix) {
    const image = context.createImageData(tokens, tokens);
    paint(matrix, 0, scale, colourTable(app.taste.colours), new Uint32Array(image.data.buffer));
    context.putImageData(image, 0, 0);
  }

  function mark() {
    const { query, key } = app.pointer.pair();
    const size = 100 / tokens + "%";
    Object.assign(rowLine.style, { top: (100 * query) / tokens + "%", height: size });
    Object.assign(colLine.style, { left: (100 * key) / tokens + "%", width: size });
  }
}
