/** Panel Positions: what the position embedding knows about which patch is whose neighbour. */

import { mapCanvas } from "../canvas.js";
import { colourTable } from "../colour.js";
import { el, setText, show } from "../dom.js";
import { placeOf, tokenAt, tokenOf } from "../geometry.js";
import { inSlices } from "../idle.js";
import { createLegend } from "../legend.js";
import { similarities } from "../maps.js";
import { createMosaic } from "../mosaic.js";
import { percent, signed } from "../numbers.js";
import { explore } from "../pointing.js";
import { tokenName, tokenTitle } from "../words.js";

export const positions = { id: "positions", create };

const SCALE = { min: -1, max: 1 };

function create(app) {
  const { t, grid, picture } = app;
  if (!picture.positions) {
    return {
      root: el("div", {}, el("p", { class: "vv-intro", text: t("missing_noPositions") })),
      render() {},
    };
  }
  const intro = el("p", { class: "vv-intro" });
  const large = mapCanvas(grid.rows, grid.cols, "vv-large-map");
  const dot = el("span", { class: "vv-box vv-selected" });
  const value = el("p", { class: "vv-under" });
  const one = el("figure", { class: "vv-figure" },
    el("div", { class: "vv-map-frame" }, large.canvas, dot),
    el("figcaption", { text: t("positionsOne") }), value);
  const legend = createLegend(t);
  const mosaic = createAllPositions(app);
  const all = el("figure", { class: "vv-figure" }, mosaic.frame,
    el("figcaption", { text: t("positionsAll", { count: grid.rows * grid.cols }) }), mosaic.status);
  const pair = el("div", { class: "vv-figures" }, one, all);
  const root = el("div", {}, intro, pair, legend.root,
    el("p", { class: "vv-note", text: t("positionsNote") }));
  let pointed = null;

  const tokenOfEvent = (event) => {
    const box = large.canvas.getBoundingClientRect();
    const whole = { ...grid, width: grid.cols * grid.patchWidth, height: grid.rows * grid.patchHeight };
    return tokenAt(event.clientX - box.left, event.clientY - box.top, box, whole);
  };
  large.canvas.parentElement.addEventListener("pointermove", (event) => {
    pointed = tokenOfEvent(event);
    renderValue(app.shownToken());
  });
  large.canvas.parentElement.addEventListener("pointerleave", () => {
    pointed = null;
    renderValue(app.shownToken());
  });
  large.canvas.parentElement.addEventListener("click", (event) => {
    const token = tokenOfEvent(event);
    if (token !== null) app.select({ token, pinned: true });
  });
  mosaic.start();

  return { root, render, destroy: mosaic.destroy };

  function render({ token }) {
    const similar = app.positionMap(token);
    setText(intro, similar ? t("positionsIntro", { token: tokenTitle(token, app) })
      : t("positionsPrefix", { token: tokenTitle(token, app) }));
    one.classList.toggle("vv-stale", !similar);
    if (similar) large.draw(similar, 0, SCALE, colourTable("diverging"));
    else large.clear();
    const place = placeOf(token, grid);
    show(dot, place !== null);
    if (place) {
      Object.assign(dot.style, {
        left: (100 * place.col) / grid.cols + "%", top: (100 * place.row) / grid.rows + "%",
        width: 100 / grid.cols + "%", height: 100 / grid.rows + "%",
      });
    }
    legend.render({ scale: SCALE, colours: "diverging", uniform: null, note: t("scale_positions") });
    mosaic.mark(place);
    renderValue(token);
  }

  function renderValue(token) {
    const similar = app.positionMap(token);
    if (!similar || pointed === null) setText(value, t("pointAtMap"));
    else {
      setText(value, t("underPointer", { name: tokenName(pointed, app),
        value: signed(similar[pointed - grid.prefix], 3).trim() }));
    }
  }
}

/** The maps of all positions, painted while idle. */
function createAllPositions(app) {
  const { t, grid, picture } = app;
  const { rows, cols } = grid;
  const mosaic = createMosaic({ outerRows: rows, outerCols: cols, rows, cols,
    label: t("positionsAll", { count: rows * cols }) });
  const status = el("p", { class: "vv-note", role: "status" });
  const stop = new AbortController();
  explore(mosaic.frame, (event) => {
    const cell = mosaic.cellAt(event);
    return cell ? tokenOf(cell.row, cell.col, grid) : null;
  }, app);
  return { frame: mosaic.frame, status, start, mark: mosaic.mark, destroy: () => stop.abort() };

  async function start() {
    const table = colourTable("diverging");
    let patch = 0;
    const step = () => {
      const map = similarities(picture.positions, patch, rows * cols);
      mosaic.draw(Math.floor(patch / cols), patch % cols, map, 0, SCALE, table);
      patch += 1;
      return patch === rows * cols;
    };
    const onSlice = () => {
      const done = patch === rows * cols;
      setText(status, done ? "" : t("mosaicBuilding", { share: percent(patch / (rows * cols)) }));
      show(status, !done);
    };
    try {
      await inSlices(step, { signal: stop.signal, onSlice });
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  }
}
