/**
 * A chart of removal: the probability of the class, or the likeness, while patches go, by several orders, over
 * the band of random ones.
 */

import { spanOf, ticksOf } from "../../maths/lines.js";
import { percent, signed } from "../../maths/numbers.js";
import { el } from "../../parts/dom.js";
import { svg } from "../../parts/svg.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [320, 206, 40, 18, 34, 24];

/**
 * @param {import("../../main.js").App} app
 * @param {string} curve  of each map: "first" if the most important patches go first, else "last"
 * @param {string} title
 * @returns {{root: HTMLElement, draw: (result: import("../../data/fairtest.js").Result,
 *   lines: {key: string, name: string, series: number}[], score: string) => void, mark: (share: number) => void}}
 *   score: the name of what falls; mark: marks how many of the patches are out
 */
export function createRemovalChart({ t }, curve, title) {
  const [inner, high] = [WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - TOP];
  const body = svg("g", { transform: "translate(" + LEFT + " " + TOP + ")" });
  const chart = svg(
    "svg",
    { viewBox: "0 0 " + WIDTH + " " + HEIGHT, class: "vv-chart", role: "img", "aria-label": title },
    body,
  );
  const key = el("ul", { class: "vv-fair-key" });
  const root = el("figure", { class: "vv-figure" }, el("figcaption", { text: title }), chart, key);
  const marked = svg("line", { class: "vv-fair-mark", y1: 0, y2: high });
  return { root, draw, mark };

  function mark(share) {
    for (const end of ["x1", "x2"]) marked.setAttribute(end, String(share * inner));
  }

  function draw({ target, removed, band, maps }, lines, score) {
    const span = spanOf([...band, ...lines.map((line) => maps[line.key][curve])]);
    const [low, top] = span;
    const place = (values) => values.map((value, step) => pointOf(removed[step], value, span, inner, high));
    const points = (values) => place(values).join(" ");
    const ticks = ticksOf(span);
    const text =
      target === null ? (value) => signed(value).trim() : (value) => percent(value).replace(".0%", "%");
    body.replaceChildren(
      ...ticks.flatMap((value) => {
        const y = (high * (top - value)) / (top - low);
        return [
          svg("line", { class: "vv-axis", x1: 0, x2: inner, y1: y, y2: y }),
          svg("text", { x: -5, y: y + 4, "text-anchor": "end", text: text(value) }),
        ];
      }),
      ...[0, 0.5, 1].map((share) =>
        svg("text", { x: share * inner, y: high + 15, "text-anchor": "middle", text: 100 * share + "%" }),
      ),
      svg("text", { x: 5 - LEFT, y: 11 - TOP, text: score }),
      svg("text", { x: inner / 2, y: high + 29, "text-anchor": "middle", text: t("fairAxis") }),
      svg("polygon", {
        class: "vv-fair-band",
        points: [...place(band[0]), ...place(band[1]).reverse()].join(" "),
      }),
      // The first map lies over the others.
      ...[...lines].reverse().map((line) =>
        svg("polyline", {
          class: "vv-fair-line vv-series-" + line.series,
          points: points(maps[line.key][curve]),
        }),
      ),
      marked,
    );
    key.replaceChildren(
      ...lines.map(({ name, series }) => el("li", { class: "vv-fair-name vv-series-" + series, text: name })),
      el("li", { class: "vv-fair-name vv-fair-random", text: t("fairBand") }),
    );
  }
}

/** A point of a curve in a chart: "x,y". */
export function pointOf(removed, value, [low, top], width, height) {
  return (removed * width).toFixed(1) + "," + ((height * (top - value)) / (top - low)).toFixed(1);
}
