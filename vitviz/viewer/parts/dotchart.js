/**
 * A chart of dots, one for each head above its layer, with a line at the value of uniform attention (the ViT
 * paper's figure 7).
 */

import { digits } from "../maths/numbers.js";
import { pileAt, ticks, topOf } from "../maths/scatter.js";
import { el } from "./dom.js";
import { svg } from "./svg.js";

/**
 * The dots under the pointer: the nearest one, and all that overlap it.
 * @typedef {{nearest: any, pile: any[]}} Pile
 */

/** @type {Pile} */
export const NOTHING = { nearest: null, pile: [] };
const [REACH, OVERLAP] = [24, 5]; // in units of the drawing, which are about pixels
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [340, 220, 38, 26, 10, 8];

/**
 * @param {any} app
 * @param {{figure: "entropy"|"distance", values: number[][], even: number, errors?: number[][],
 *   onPoint: (found: Pile) => void, onChoose: (found: Pile) => void}} of
 *   values: [layer][head]; even: the value of uniform attention; errors: of each value, of which two are
 *   drawn either way
 * @returns
 *   {{root: HTMLElement, mark: (chosen: {layer: number, head: number|"mean"|null}, pointed: any) => void}}
 */
export function createDotChart(app, { figure, values, even, errors, onPoint, onChoose }) {
  const { t } = app;
  const { manifest } = app.source;
  const top = topOf([
    even,
    ...values.flatMap((heads, layer) => heads.map((value, head) => value + 2 * (errors?.[layer][head] || 0))),
  ]);
  const x = (layer) => LEFT + ((layer + 0.5) / manifest.model.depth) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const places = values.flatMap((heads, layer) =>
    heads.map((value, head) => ({ layer, head, x: x(layer), y: y(value) })),
  );
  const dots = places.map((place) => svg("circle", { class: "vv-dot", cx: place.x, cy: place.y, r: 4 }));
  const reach = places.flatMap(({ layer, head, x: across }) =>
    errors?.[layer][head] > 0
      ? [
          svg("line", {
            class: "vv-dot-error",
            x1: across,
            x2: across,
            y1: y(values[layer][head] - 2 * errors[layer][head]),
            y2: y(values[layer][head] + 2 * errors[layer][head]),
          }),
        ]
      : [],
  );
  const line = (value, name) =>
    svg("line", { class: name, x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) });
  const ring = svg("circle", { class: "vv-dot-ring", r: 8 });
  const chosenRing = svg("circle", { class: "vv-dot-chosen", r: 6 });
  const column = svg("rect", {
    class: "vv-dot-layer",
    y: TOP,
    height: HEIGHT - BOTTOM - TOP,
    width: (WIDTH - LEFT - RIGHT) / manifest.model.depth,
  });
  const every = Math.ceil(manifest.model.depth / 12);
  const chart = svg(
    "svg",
    {
      viewBox: "0 0 " + WIDTH + " " + HEIGHT,
      class: "vv-chart",
      role: "img",
      "aria-label": t("dots_" + figure),
    },
    column,
    ...ticks(top).flatMap((value) => [
      line(value, "vv-axis"),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", text: String(value) }),
    ]),
    line(even, "vv-even"),
    ...reach,
    ...dots,
    chosenRing,
    ring,
    ...values.map((_, layer) =>
      layer % every === 0
        ? svg("text", { x: x(layer), y: HEIGHT - 8, "text-anchor": "middle", text: String(layer) })
        : null,
    ),
  );
  const dotOf = (event) => {
    const box = chart.getBoundingClientRect();
    const scale = WIDTH / box.width;
    return pileAt(
      places,
      (event.clientX - box.left) * scale,
      (event.clientY - box.top) * scale,
      REACH,
      OVERLAP,
    );
  };
  chart.addEventListener("pointermove", (event) => onPoint(dotOf(event)));
  chart.addEventListener("pointerleave", () => onPoint(NOTHING));
  chart.addEventListener("click", (event) => onChoose(dotOf(event)));
  const root = el(
    "figure",
    { class: "vv-figure" },
    el("figcaption", { text: t("dots_" + figure) }),
    chart,
    el("p", { class: "vv-note", text: t("dotsAxis", { even: digits(even) }) }),
  );
  return {
    root,
    mark(chosen, pointed) {
      column.setAttribute("x", x(chosen.layer) - (WIDTH - LEFT - RIGHT) / manifest.model.depth / 2);
      put(chosenRing, chosen.head === "mean" ? null : chosen);
      put(ring, pointed);
    },
  };

  function put(circle, head) {
    circle.setAttribute("visibility", head ? "visible" : "hidden");
    if (!head) return;
    const place = places[head.layer * manifest.model.num_heads + head.head];
    circle.setAttribute("cx", place.x);
    circle.setAttribute("cy", place.y);
  }
}
