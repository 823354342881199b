/** Panel Positions: cosine similarities of the position embedding, which show what it knows of places. */

import { positionMaps } from "../data/analysis.js";
import { colourTable } from "../maths/colour.js";
import { createCurves } from "./positions/curves.js";
import { el, setText, show } from "../parts/dom.js";
import { mapRatio, middleToken, placeOf, tokenOf } from "../maths/geometry.js";
import { inSlices } from "../data/idle.js";
import { createLegend } from "../parts/legend.js";
import { similarities } from "../data/maps.js";
import { marginals } from "../maths/marginals.js";
import { createPatchMosaic } from "../parts/mosaic.js";
import { percent, signed } from "../maths/numbers.js";
import { createPatchMap } from "../parts/patchmap.js";
import { explore, hover } from "../parts/pointing.js";
import { tokenTable } from "../state/saves.js";
import { oneOf } from "../state/panels.js";
import { createFileWaiting } from "../parts/waiting.js";
import { button, choice } from "../parts/widgets.js";
import { positionsFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { tokenName, tokenTitle } from "../text/words.js";
import { createInside } from "./positions/inside.js";
import { createZoom } from "./positions/zoom.js";

/** The position embeddings that the mosaic can show. */
const MOSAICS = ["trained", "untrained"];

/** @type {import("../state/panels.js").PanelDescription} */
export const positions = {
  id: "positions",
  group: "see",
  overlay: "positions",
  rests: middleToken,
  selects: { mosaic: oneOf(MOSAICS) },
  explains: ["position"],
  lights: (app) => (app.source.inside.exists ? ["position", app.selection.layer] : ["position"]),
  create,
  saves,
  code,
};

/**
 * The similarities of the selected position, and what is told inside attention; of a prefix token, the
 * similarities of all positions.
 */
function code({ token, layer }, { manifest, grid }) {
  const {
    files: { positions: learned, inside: turned },
    model: { position_kinds: kinds },
  } = manifest;
  if (!placeOf(token, grid)) return learned ? codeOf(manifest, "positions_all", {}) : null;
  const cells = [
    learned ? "positions" : "no_positions",
    ...(turned ? [kinds.includes("rotary") ? "positions_rotary" : "positions_bias"] : []),
  ];
  return learned || turned ? codeOf(manifest, { vitviz: cells, torch: cells }, { token, layer }) : null;
}

const SCALE = { min: -1, max: 1 };

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { grid } = app.source;
  const inside = createInside(app);
  if (!app.source.positions.exists) {
    const blind = app.source.manifest.model.position_kinds.length === 0 ? blindNodes(app) : [];
    return {
      root: el(
        "div",
        {},
        ...blind,
        inside.root,
        el("p", { class: "vv-text", text: t("missing_noPositions") }),
      ),
      render: inside.render,
    };
  }
  // The twin: the position embedding before training, if it is known.
  const hasTwin = app.source.untrained.exists;
  let twin = null; // its maps, once they are here
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const value = el("p", { class: "vv-under" });
  const ones = [createOne(app, t("positionsOne"), (token) => app.source.positionMap(token), point)];
  if (hasTwin) ones.push(createOne(app, t("positionsOneUntrained"), (token) => twin?.(token) ?? null, point));
  const names = hasTwin ? MOSAICS.map((which) => t("mosaic_" + which)) : [""];
  const curves = [
    { title: "positionsOfRows", axis: "rowAxis", count: grid.rows },
    { title: "positionsOfCols", axis: "colAxis", count: grid.cols },
  ].map(({ title, axis, count }) =>
    createCurves({ title: t(title), axis: t(axis), count, scale: SCALE, names }),
  );
  const legend = createLegend(t);
  const loading = createFileWaiting(app, () => app.source.positions, "positionsLoading");
  const waiting = createFileWaiting(app, () => app.source.untrained, "untrainedLoading");
  const all = createAllPositions(app);
  const root = el(
    "div",
    {},
    found,
    intro,
    el("div", { class: "vv-figures" }, ...ones.map((part) => part.root)),
    value,
    loading.root,
    waiting.root,
    legend.root,
    el("div", { class: "vv-figures" }, ...curves.map((curve) => curve.root)),
    inside.root,
    all.root,
  );
  let pointed = null;

  return { root, render, destroy: all.destroy };

  function point(token) {
    pointed = token;
    renderValue(app.pointer.shownToken());
  }

  function render({ token }) {
    const similar = app.source.positionMap(token);
    const rows = waiting.get();
    loading.get();
    if (rows && !twin) twin = positionMaps(rows, grid);
    setText(found, positionsFinding(app, similar, token));
    setText(
      intro,
      token >= grid.prefix
        ? t("positionsIntro", { token: tokenTitle(token, app) })
        : t("positionsPrefix", { token: tokenTitle(token, app) }),
    );
    for (const part of ones) part.render(token);
    for (const curve of curves) curve.count(app.taste.fromOne);
    legend.render({ scale: SCALE, colours: "diverging", uniform: null, note: t("scale_positions") });
    const place = placeOf(token, grid);
    for (const curve of curves) show(curve.root, similar !== null);
    if (similar) {
      const means = [similar, twin?.(token)]
        .filter(Boolean)
        .map((map) => marginals(map, grid.rows, grid.cols));
      curves[0].render(
        means.map(({ ofRows }) => ofRows),
        place.row,
      );
      curves[1].render(
        means.map(({ ofCols }) => ofCols),
        place.col,
      );
    }
    inside.render({ token });
    all.render(place);
    renderValue(token);
  }

  function renderValue(token) {
    if (pointed === null || !app.source.positionMap(token)) return setText(value, t("pointAtMap"));
    const at = pointed - grid.prefix;
    const read = (map) => signed(map[at], 3).trim();
    const before = twin?.(token) ? " (" + t("mosaic_untrained") + " " + read(twin(token)) + ")" : "";
    return setText(
      value,
      t("underPointer", {
        name: tokenName(pointed, app),
        value: read(app.source.positionMap(token)) + before,
      }),
    );
  }
}

/** The consequence of a model without positions: the order of the patches does not count. */
function blindNodes(app) {
  const { t, bench } = app;
  const shuffle = button({
    text: t("positionsShuffle"),
    title: t("experimentShuffleTitle", { side: 1 }),
    onClick: () => bench.add({ kind: "shuffle", cells: 1, seed: 0 }),
  });
  return [
    el("p", { class: "vv-found", text: t("positionsBlind") }),
    ...(app.backend.changes ? [el("div", { class: "vv-pair" }, shuffle)] : []),
  ];
}

/** The map of the selected position, large. */
function createOne(app, title, mapOf, point) {
  const map = createPatchMap(app.source.grid);
  const root = el("figure", { class: "vv-figure" }, el("figcaption", { text: title }), map.frame);
  hover(
    map.frame,
    (event) => point(map.tokenOf(event)),
    () => point(null),
  );
  map.frame.addEventListener("click", (event) => {
    const token = map.tokenOf(event);
    if (token !== null) app.select({ token, pinned: true });
  });
  return {
    root,
    render(token) {
      const similar = mapOf(token);
      root.classList.toggle("vv-stale", !similar);
      if (similar) map.draw(similar, 0, SCALE, colourTable("diverging"));
      else map.clear();
      map.mark(token);
    },
  };
}

/** The maps of all positions, painted while idle, in a frame that enlarges them. */
function createAllPositions(app) {
  const { t } = app;
  const { grid } = app.source;
  const { rows, cols } = grid;
  const mosaic = createPatchMosaic(grid, mapRatio(grid), t("positionsAll", { count: rows * cols }));
  const zoom = createZoom(mosaic.frame, t);
  const status = el("p", { class: "vv-note", role: "status" });
  const which = app.source.untrained.exists
    ? choice({
        label: t("positionsMosaic"),
        options: MOSAICS.map((value) => ({ value, text: t("mosaic_" + value) })),
        onChoose: (value) => app.select({ mosaic: value }),
      })
    : null;
  let stop = new AbortController();
  let drawn = ""; // the mosaic that is drawn
  explore(
    mosaic.frame,
    (event) => {
      const cell = mosaic.cellAt(event);
      return cell ? tokenOf(cell.row, cell.col, grid) : null;
    },
    app,
  );
  const root = el(
    "figure",
    { class: "vv-figure" },
    which?.root,
    el("figcaption", { text: t("positionsAll", { count: rows * cols }) }),
    zoom.root,
    status,
  );
  return { root, render, destroy: () => stop.abort() };

  function render(place) {
    const { mosaic: wanted } = app.selection;
    const shown = app.source.untrained.exists ? wanted : "trained";
    which?.set(shown);
    const from = shown === "trained" ? app.source.positions.get() : app.source.untrained.get();
    if (from && drawn !== shown) {
      start(from);
      drawn = shown;
    }
    mosaic.mark(place);
    if (place) zoom.show({ left: (place.col + 0.5) / cols, top: (place.row + 0.5) / rows });
  }

  async function start(from) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    const table = colourTable("diverging");
    let patch = 0;
    const step = () => {
      const map = similarities(from, patch, rows * cols);
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
      await inSlices(step, { signal, onSlice });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

function saves(app, { token }) {
  const similar = app.source.positionMap(token);
  if (!similar) return { tables: {}, figures: app.source.positions.exists ? ["mosaic"] : [] };
  const values = new Float32Array(app.source.grid.tokens).fill(NaN);
  values.set(similar, app.source.grid.prefix);
  return { tables: { positions: tokenTable(app, { cosine: values }) }, figures: ["positions", "mosaic"] };
}
