/** Line charts over the rows or columns of the grid, of the marginals of a map. */

import { el, setText } from "../../parts/dom.js";
import { linePoints } from "../../maths/marginals.js";
import { svg } from "../../parts/svg.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [300, 120, 30, 20];

/**
 * A chart of one or two lines over the same rows or columns.
 * @param {{title: string, axis: string, count: number, scale: {min: number, max: number},
 *   names: string[]}} props  names: of the lines, written below if there are two
 *   render: draws the lines that are given; count: from 1 or from 0
 * @returns {{root: HTMLElement, render: (lines: ArrayLike<number>[], marked: number|null) => void,
 *   count: (fromOne: boolean) => void}}
 */
export function createCurves({ title, axis, count, scale, names }) {
  const [inner, high] = [WIDTH - LEFT - 6, HEIGHT - BOTTOM - 8];
  const y = (value) => (1 - (value - scale.min) / (scale.max - scale.min)) * high;
  const lines = names.map((_, at) =>
    svg("polyline", { class: at === 0 ? "vv-curve" : "vv-curve vv-second-line" }),
  );
  const marker = svg("line", { class: "vv-line-mark", y1: 0, y2: high });
  const every = Math.ceil(count / 14);
  const numbers = Array.from({ length: Math.ceil(count / every) }, (_, at) =>
    svg("text", { x: ((at * every + 0.5) / count) * inner, y: high + 16, "text-anchor": "middle" }),
  );
  const ends = [scale.min, 0, scale.max];
  const chart = svg(
    "svg",
    { viewBox: "0 0 " + WIDTH + " " + HEIGHT, class: "vv-chart", role: "img", "aria-label": title },
    svg(
      "g",
      { transform: "translate(" + LEFT + " 8)" },
      ...ends.flatMap((value) => [
        svg("line", { class: "vv-axis", x1: 0, x2: inner, y1: y(value), y2: y(value) }),
        svg("text", {
          x: -5,
          y: y(value) + 4,
          "text-anchor": "end",
          text: String(value).replace("-", "\u2212"),
        }),
      ]),
      ...numbers,
      marker,
      ...lines,
    ),
  );
  const key =
    names.length < 2
      ? null
      : el(
          "p",
          { class: "vv-note vv-line-key" },
          ...names.map((name, at) =>
            el("span", { class: at === 0 ? "vv-key-line" : "vv-key-line vv-second-line", text: name }),
          ),
        );
  const root = el(
    "figure",
    { class: "vv-figure" },
    el("figcaption", { text: title }),
    chart,
    el("p", { class: "vv-note", text: axis }),
    key,
  );
  return {
    root,
    count(fromOne) {
      numbers.forEach((node, at) => setText(node, String(at * every + Number(fromOne))));
    },
    render(values, marked) {
      lines.forEach((line, at) =>
        line.setAttribute("points", values[at] ? linePoints(values[at], scale, inner, high) : ""),
      );
      marker.setAttribute("visibility", marked === null ? "hidden" : "visible");
      if (marked === null) return;
      const place = ((marked + 0.5) / count) * inner;
      marker.setAttribute("x1", place);
      marker.setAttribute("x2", place);
    },
  };
}
