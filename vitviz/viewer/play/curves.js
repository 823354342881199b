/** Curves: the measurements of every run over its steps, in one plot. */

import { heightOf, spread } from "../maths/lines.js";
import { el, setText } from "../parts/dom.js";
import { svg } from "../parts/svg.js";

const SIZE = 1000; // units of the drawing, which is stretched
const MOST_POINTS = 150; // of a curve; more are averaged

/** @typedef {{number: number, colour: number, points: import("./runs.js").Point[], lit: boolean}} Line */

/**
 * @param {{label: string, axis: string, scale: import("../maths/lines.js").Scale,
 *   ticks: {value: number, text: string}[]}} of
 * @returns {{root: HTMLElement, render: (lines: Line[], steps: number, ends: string[]) => void}}
 *   steps: the width of the plot; ends: what stands under its two ends
 */
export function createCurves({ label, axis, scale, ticks }) {
  const rules = ticks.map(({ value }) =>
    svg("line", {
      class: "vv-axis",
      x1: 0,
      x2: SIZE,
      y1: SIZE * heightOf(value, scale),
      y2: SIZE * heightOf(value, scale),
    }),
  );
  const places = spread(
    ticks.map(({ value }) => heightOf(value, scale)),
    0.08,
  );
  const names = ticks.map(({ text }, at) => {
    const tick = el("span", { text });
    tick.style.top = 100 * places[at] + "%";
    return tick;
  });
  const paths = svg("g");
  const drawn = new Map(); // by the numbers of runs
  const below = [el("span"), el("span", { text: axis }), el("span")];
  const root = el(
    "div",
    { class: "vv-linechart vv-play-curves", role: "img", "aria-label": label },
    el("p", { class: "vv-play-axis", text: label }),
    el("div", { class: "vv-plot-ticks", "aria-hidden": "true" }, ...names),
    el(
      "div",
      { class: "vv-plot" },
      svg(
        "svg",
        { viewBox: "0 0 " + SIZE + " " + SIZE, preserveAspectRatio: "none", "aria-hidden": "true" },
        ...rules,
        paths,
      ),
    ),
    el("div", { class: "vv-play-below", "aria-hidden": "true" }, ...below),
  );
  return {
    root,
    /** Draws what has changed, and nothing else. */
    render(lines, steps, [first, last]) {
      setText(below[0], first);
      setText(below[2], last);
      for (const [number, { node }] of drawn) {
        if (lines.some((line) => line.number === number)) continue;
        node.remove();
        drawn.delete(number);
      }
      for (const { number, colour, points, lit } of lines) {
        const known = drawn.get(number) ?? {
          node: svg("polyline"),
          points: null,
          last: null,
          steps: -1,
          lit: null,
        };
        if (known.lit !== lit) {
          known.node.setAttribute("class", "vv-series vv-series-" + colour + (lit ? " vv-lit" : ""));
          // the selected run lies on top
          if (lit || !drawn.has(number)) paths[lit ? "append" : "prepend"](known.node);
        }
        if (known.points !== points || known.last !== points.at(-1) || known.steps !== steps) {
          known.node.setAttribute(
            "points",
            averaged(points)
              .map(({ step, value }) => {
                const x = (SIZE * step) / Math.max(1, steps);
                return `${x.toFixed(1)},${(SIZE * heightOf(value, scale)).toFixed(1)}`;
              })
              .join(" "),
          );
        }
        drawn.set(number, Object.assign(known, { points, last: points.at(-1), steps, lit }));
      }
    },
  };
}

/** At most so many points: the means of neighbours. @param {import("./runs.js").Point[]} points */
export function averaged(points, most = MOST_POINTS) {
  const size = Math.ceil(points.length / most);
  if (size <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, at) => {
    const part = points.slice(at * size, (at + 1) * size);
    const mean = (of) => part.reduce((sum, point) => sum + of(point), 0) / part.length;
    return { step: mean(({ step }) => step), value: mean(({ value }) => value) };
  });
}
