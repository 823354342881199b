/** The figure of a step in the lesson bar: what it asks or tells of, small, drawn by the parts of the panels. */

import { figureIn } from "../lessons/figures.js";
import { colourTable } from "../maths/colour.js";
import { mapRatio } from "../maths/geometry.js";
import { bar } from "../panels/predictions.js";
import { createRowBars } from "../panels/qk.js";
import { mapCanvas, pictureCanvas } from "../parts/canvas.js";
import { el, show } from "../parts/dom.js";
import { createLineChart } from "../parts/linechart.js";
import { createStrip } from "../parts/strip.js";
import { createMarks } from "../stage/marks.js";
import { figured } from "./figured.js";

const CHART_EM = 4.6; // height of a curve
const TICKS = [0, 0.5, 1];

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: (told: boolean, possible: boolean) => void}}
 *   told: whether the answer is; possible: whether there is one
 */
export function createFigure(app) {
  const { t, course } = app;
  const root = el("figure", { class: "vv-lesson-figure", hidden: true });
  let drawn = ""; // the step whose figure stands there, and what was loading
  return { root, render };

  function render(told, possible) {
    const lesson = course.lesson();
    /** @type {any} */
    const part = possible ? figureIn(lesson, course.step(), told) : null;
    root.dataset.figure = part?.kind ?? part ?? "";
    const step = part?.kind ? [lesson.id, course.number(), told].join("/") : "";
    if (step && step === drawn) return;
    const found = step ? figured(app, part) : undefined;
    const now = part?.kind === "pair" ? step + stateOf(found) : found === null ? step + "…" : step;
    show(root, found !== undefined);
    const before = drawn;
    drawn = found === undefined ? "" : now;
    if (drawn === "" || drawn === before) return;
    root.setAttribute("aria-label", t("evidenceKind_" + part.kind));
    root.setAttribute("aria-busy", String(now.includes("…")));
    root.replaceChildren(...(found ? DRAWINGS[part.kind](app, found, part) : [loading()]));
    root.classList.toggle("vv-figure-three", root.children.length > 2);
  }

  function loading() {
    return el("p", { class: "vv-note", text: t("lessonLoading") });
  }
}

/** Fingerprint of the loaded parts of a pair: it is drawn again when a picture or an answer arrives. */
const stateOf = (cards) =>
  JSON.stringify(cards.map(({ source, name, facts }) => [name, facts, Boolean(source?.picture.get())]));

/** A picture as the model saw it, with the patches crossed out that were taken away. */
function thumbnail({ picture, grid, manifest: { pass, model } }, name) {
  const found = picture.get();
  const marks = createMarks(grid);
  marks.draw(pass.removed ?? []);
  const { height, width } = model.image;
  const photo = found && pictureCanvas(found.rgba, height, width, "vv-figure-photo");
  const root = el(
    "div",
    { class: "vv-figure-picture", role: "img", "aria-label": name },
    photo,
    marks.canvas,
  );
  root.style.aspectRatio = width + " / " + height;
  return root;
}

const card = (picture, ...lines) => el("div", { class: "vv-figure-card" }, picture, ...lines);

/** Pictures side by side; between them the one whose tokens were put in. */
function drawPair(app, cards) {
  const [, second] = cards;
  const [donor] = Object.values(second.source?.manifest.pass.donors ?? {});
  const nodes = cards.map(({ source, name, facts }) =>
    card(
      source && thumbnail(source, name),
      el("div", {}, el("span", { text: name }), ...facts.map((text) => el("b", { text }))),
    ),
  );
  if (donor) {
    const { rgba, height, width } = donor;
    const picture = pictureCanvas(rgba, height, width, "vv-figure-photo");
    nodes.splice(
      1,
      0,
      card(
        el("div", { class: "vv-figure-picture", style: `aspect-ratio: ${width} / ${height}` }, picture),
        el("div", {}, app.t("evidenceDonor")),
      ),
    );
  }
  return nodes;
}

/** Rows with bars, as the panel Predictions draws them. */
const drawBars = (_app, rows) => [
  el(
    "ol",
    { class: "vv-predictions" + (rows.length > 6 ? " vv-figure-two" : "") },
    ...rows.map(({ name, text, share }) => bar({ label: name, share, text, title: name, note: "" }, -1)),
  ),
];

const drawMaps = ({ source: { grid } }, maps) =>
  maps.map(({ name, values, scale, note }) => {
    const map = mapCanvas(grid.rows, grid.cols);
    map.draw(
      values,
      values.length === grid.tokens ? grid.prefix : 0,
      scale,
      colourTable(scale.min < 0 ? "diverging" : "viridis"),
    );
    map.canvas.style.aspectRatio = String(mapRatio(grid));
    map.canvas.setAttribute("role", "img");
    map.canvas.setAttribute("aria-label", [name, note].filter(Boolean).join(": "));
    return card(map.canvas, el("span", { text: name }), note ? el("b", { text: note }) : null);
  });

/** A chart that only shows: what stands at its mark is said under it. */
function drawCurve(_app, { columns, axis, values, low, top, mark, tick, name, reading }) {
  const chart = createLineChart({ label: name, axis, columns, height: CHART_EM, onChoose() {} });
  chart.render({
    lines: [{ name, title: name, values }],
    scale: { min: low, max: top },
    ticks: TICKS.map((part) => ({ value: part * top, text: tick(part * top) })),
    marked: mark,
    reading,
  });
  chart.root.inert = true;
  return [chart.root, el("figcaption", { text: reading })];
}

const drawNumbers = (_app, vectors) =>
  vectors.map(({ name, values, note }) => {
    const strip = createStrip(values.length, name, () => {});
    strip.draw(values, colourTable("diverging"));
    strip.root.append(el("b", { text: note }));
    return strip.root;
  });

function drawRow(app, pair, { of }) {
  const row = createRowBars(app, of);
  row.render(pair, app.course.at().partner);
  row.root.inert = true;
  return [row.root];
}

/** Drawings, by kind. @type {Record<string, (app: any, found: any, part: any) => (Node|string)[]>} */
const DRAWINGS = {
  pair: drawPair,
  bars: drawBars,
  answers: drawBars,
  maps: drawMaps,
  curve: drawCurve,
  numbers: drawNumbers,
  row: drawRow,
};
