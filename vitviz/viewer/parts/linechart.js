/** A chart of named lines over columns; one column is selected, one line can be highlighted. */

import { el, setText } from "./dom.js";
import { columnAt, heightOf, nearestLine, placeOfColumn, spread } from "../maths/lines.js";
import { svg } from "./svg.js";

const SIZE = 1000; // units of the drawing, which is stretched; its lines keep their width
const NAME_HEIGHT = 1.9; // of the name of a line, in em
const MOST_COLUMN_NAMES = 13; // of one or two letters

/**
 * @typedef {{name: string, title: string, values: number[]}} Line  title: what a screen reader says
 * @typedef {{lines: Line[], scale: import("../maths/lines.js").Scale, marked: number,
 *   ticks: {value: number, text: string}[], reading: string}} Chart
 */

/**
 * Arrow keys in the plot, a click or a drag select a column; pointing at a line or its name, or
 * focusing the name, highlights the line.
 * @param
 *   {{label: string, axis: string, columns: string[], height?: number, onChoose: (column: number) => void}}
 *   props  height: in em
 * @returns {{root: HTMLElement, render: (chart: Chart) => void}}
 */
export function createLineChart({ label, axis, columns, height = 16, onChoose }) {
  const count = columns.length;
  const drawing = svg("svg", {
    viewBox: "0 0 " + SIZE + " " + SIZE,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const mark = el("span", { class: "vv-plot-mark" });
  const plot = el(
    "div",
    {
      class: "vv-plot",
      tabindex: "0",
      role: "slider",
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": count - 1,
      onkeydown: onKey,
    },
    drawing,
    mark,
  );
  plot.style.height = height + "em";
  const ticks = el("div", { class: "vv-plot-ticks", "aria-hidden": "true" });
  const names = el("div", { class: "vv-plot-names" });
  const length = Math.max(2, ...columns.map((text) => text.length));
  const every = Math.ceil((count * length) / (2 * MOST_COLUMN_NAMES));
  const below = el(
    "div",
    { class: "vv-plot-columns", "aria-hidden": "true" },
    ...columns.map((text, at) => el("span", { text: at % every === 0 ? text : "" })),
  );
  const root = el(
    "div",
    { class: "vv-linechart" },
    ticks,
    plot,
    names,
    below,
    el("p", { class: "vv-note vv-plot-axis", text: axis }),
  );
  let shown = null;
  let nodes = [];
  plot.addEventListener("pointermove", (event) => {
    const { column, height: at } = spot(event);
    light(
      nearestLine(
        shown.lines.map(({ values }) => heightOf(values[column], shown.scale)),
        at,
      ),
    );
    if (event.buttons === 1 || event.pointerType === "touch") choose(column);
  });
  plot.addEventListener("pointerleave", () => light(-1));
  plot.addEventListener("click", (event) => choose(spot(event).column));
  return { root, render };

  function render(chart) {
    const again = shown?.lines === chart.lines && shown.scale === chart.scale;
    shown = chart;
    if (!again) draw();
    mark.style.left = 100 * placeOfColumn(chart.marked, count) + "%";
    plot.setAttribute("aria-valuenow", chart.marked);
    plot.setAttribute("aria-valuetext", chart.reading);
  }

  function draw() {
    const { lines, scale } = shown;
    const y = (value) => heightOf(value, scale);
    ticks.replaceChildren(
      ...shown.ticks.map(({ value, text }) => {
        const tick = el("span", { text });
        tick.style.top = 100 * y(value) + "%";
        return tick;
      }),
    );
    const rules = shown.ticks.map(({ value }) =>
      svg("line", { class: "vv-axis", x1: 0, x2: SIZE, y1: SIZE * y(value), y2: SIZE * y(value) }),
    );
    const paths = lines.map(({ values }, at) =>
      svg("polyline", {
        class: "vv-series vv-series-" + Math.min(at, 5),
        points: (count === 1 ? [0, SIZE] : values.map((_, column) => SIZE * placeOfColumn(column, count)))
          .map((x, column) => x.toFixed(1) + "," + (SIZE * y(values[column] ?? values[0])).toFixed(1))
          .join(" "),
      }),
    );
    // The first line matters most: it is drawn last, over the others.
    drawing.replaceChildren(...rules, ...[...paths].reverse());
    const places = spread(
      lines.map(({ values }) => y(values[count - 1])),
      NAME_HEIGHT / height,
    );
    const labels = lines.map(({ name, title }, at) => {
      const node = el(
        "button",
        {
          type: "button",
          class: "vv-plot-name vv-series-" + Math.min(at, 5),
          "aria-label": title,
          title,
          onpointerenter: () => light(at),
          onpointerleave: () => light(-1),
          onfocus: () => light(at),
          onblur: () => light(-1),
        },
        el("span", { text: name }),
      );
      node.style.top = 100 * places[at] + "%";
      return node;
    });
    names.replaceChildren(...labels);
    nodes = lines.map((_, at) => [paths[at], labels[at]]);
  }

  /** Highlights one line and dims the others; -1 highlights none. */
  function light(line) {
    root.classList.toggle("vv-some-lit", line >= 0);
    nodes.forEach((pair, at) => pair.forEach((node) => node.classList.toggle("vv-lit", at === line)));
  }

  function choose(column) {
    if (column !== shown.marked) onChoose(column);
  }

  function spot(event) {
    const box = plot.getBoundingClientRect();
    return {
      column: columnAt((event.clientX - box.left) / box.width, count),
      height: (event.clientY - box.top) / box.height,
    };
  }

  function onKey(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const to = { Home: 0, End: count - 1 }[event.key] ?? (step ? shown.marked + step : null);
    if (to === null || to < 0 || to >= count) return;
    event.preventDefault();
    event.stopPropagation();
    choose(to);
  }
}

/**
 * A sentence under a chart that changes with it.
 * @returns {{root: HTMLElement, render: (text: string) => void}}
 */
export function createReading() {
  const root = el("p", { class: "vv-plot-reading" });
  return { root, render: (text) => setText(root, text) };
}
