/**
 * The effect of rotary positions on one attention value: pairs of numbers as arrows, before and after the
 * rotation by their places.
 */

import { lengthOf } from "../../maths/mixing.js";
import { colourTable, largestSize } from "../../maths/colour.js";
import { middleToken, placeOf } from "../../maths/geometry.js";
import { exactly, signed } from "../../maths/numbers.js";
import { bySize } from "../../maths/pair.js";
import { anglesAt, turnOf } from "../../maths/turn.js";
import { el, setText, show } from "../../parts/dom.js";
import { createStrip } from "../../parts/strip.js";
import { svg } from "../../parts/svg.js";
import { createFileWaiting } from "../../parts/waiting.js";
import { button, slider } from "../../parts/widgets.js";
import { tokenName } from "../../text/words.js";

const PARTS = ["before", "after"];
// q and k before the turn, how far each pair is turned apart, and what it adds to q . k
const STRIPS = ["q", "k", "apart", ...PARTS];
const HANDS = ["q", "k"];
const LINES = ["angle", "pair", "sum"];
/** A term within a line of arithmetic. */
const braced = (text) => (text.startsWith("\u2212") ? "(" + text + ")" : text.trim());

const [MIDDLE, REACH] = [70, 48]; // of a dial, in units of the drawing

/** Whether there is something to show: q and k are turned, and how far is known. */
export const isTurned = ({ manifest, inside }) =>
  manifest.model.position_kinds.includes("rotary") && inside.exists;

/**
 * The turn of the shown pair; null while its angles are loading, or where a model turns nothing.
 * @param {import("../../main.js").App} app
 */
export function turnFor({ source, selection: { layer } }, head, query, key, pair) {
  const inside = isTurned(source) ? source.inside.get() : null;
  return inside && turnOf(inside, layer, head, pair, placeOf(query, source.grid), placeOf(key, source.grid));
}

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement,
 *   render: (query: number, key: number, pair: import("../../maths/pair.js").Pair) => void}}
 */
export function createTurnView(app) {
  const { t, source } = app;
  const half = source.manifest.model.head_dim / 2;
  let chosen = null; // one of the pairs; null: the one that the turn changes most
  let shown = null;
  const choose = (at) => {
    if (at !== null) {
      chosen = at % half;
      draw();
    }
  };
  const waiting = createFileWaiting(app, () => source.inside, "insideLoading");
  const intro = el("p", { class: "vv-intro" });
  const strips = STRIPS.map((part) => ({
    part,
    ...createStrip(HANDS.includes(part) ? 2 * half : half, t("turnStrip_" + part), choose),
  }));
  const nowhere = el("span");
  const middle = middleToken(source.grid);
  const unplaced = el(
    "p",
    { class: "vv-note" },
    nowhere,
    button({
      text: t("turnTwoSquares"),
      onClick: () =>
        app.select({ token: middle, partner: Math.max(source.grid.prefix, middle - 1), pinned: true }),
    }),
  );
  const which = slider({
    label: t("turnPair"),
    min: 0,
    max: half - 1,
    step: 1,
    onInput: choose,
    format: (at) => t("turnNumbers", { at, other: at + half }),
  });
  const dials = PARTS.map((part) => createDial(t("turn_" + part)));
  const lines = LINES.map((name) => {
    const work = el("dd");
    return { work, root: el("div", {}, el("dt", { text: t("turnLine_" + name) }), work) };
  });
  const body = el(
    "div",
    { class: "vv-pair-body" },
    intro,
    el("div", { class: "vv-strips" }, ...strips.map((strip) => strip.root)),
    which.root,
    el("div", { class: "vv-figures vv-dials" }, ...dials.map(({ root }) => root)),
    el("dl", { class: "vv-sum-board" }, ...lines.map(({ root }) => root)),
  );
  const root = el(
    "section",
    { class: "vv-mix", "aria-label": t("turnTitle") },
    el("h4", { text: t("turnTitle") }),
    waiting.root,
    unplaced,
    body,
  );
  return { root, render };

  function render(query, key, pair) {
    const turn = waiting.get() && turnFor(app, app.selection.head, query, key, pair);
    const [from, to] = [query, key].map((token) => placeOf(token, source.grid));
    show(unplaced, !from && !to);
    setText(nowhere, t("turnNowhere", { tokens: namesOf([query, key], app) }) + " ");
    show(body, turn !== null && Boolean(from || to));
    shown = turn && { turn, query, key, pair };
    draw();
  }

  function draw() {
    if (!shown) return;
    const { turn, query, key, pair } = shown;
    const at = chosen ?? bySize(turn.after.map((value, m) => value - turn.before[m]))[0];
    const reach = Math.max(...PARTS.map((part) => largestSize(turn[part]))); // one scale for what is compared
    const values = { ...turn, apart: turn.angleK.map((angle, m) => angle - turn.angleQ[m]) };
    for (const strip of strips) {
      strip.draw(
        values[strip.part],
        colourTable("diverging"),
        PARTS.includes(strip.part) ? reach : undefined,
      );
      strip.mark(at);
    }
    which.set(at);
    const arrows = [turn, pair].map(({ q, k }) => [q, k].map((values) => [values[at], values[at + half]]));
    const longest = Math.max(...arrows[0].map(lengthOf), 1e-9);
    dials.forEach((dial, i) => dial.draw(arrows[i], i === 0 ? null : arrows[0], REACH / longest));
    setText(intro, t("turnIntro", { at, other: at + half }));
    const words = sums(app, turn, at, arrows[0], query, key, pair.scale);
    lines.forEach(({ work }, i) => setText(work, words[i]));
  }
}

/**
 * Each line of arithmetic, from the angle of a pair to the score.
 * @param {number[][]} arrows  of q and k, before the turn
 */
function sums(app, turn, at, arrows, query, key, scale) {
  const { t } = app;
  const { grid, inside } = app.source;
  const { layer, head } = app.selection;
  const [q, k] = arrows;
  const degrees = (angle) => exactly((angle * 180) / Math.PI) + "°";
  const [from, to] = [query, key].map((token) => placeOf(token, grid));
  const apart = turn.angleK[at] - turn.angleQ[at];
  const nowhere = [query, key].filter((token) => !placeOf(token, grid));
  const [first, down, right] = [
    [0, 0],
    [1, 0],
    [0, 1],
  ].map(([row, col]) => anglesAt(inside.get(), layer, head, { row, col })[at]);
  const words = {
    q: degrees(turn.angleQ[at]),
    k: degrees(turn.angleK[at]),
    apart: degrees(apart),
    tokens: namesOf(nowhere, app),
  };
  const steps = from &&
    to && {
      rows: braced(signed(to.row - from.row, 0)),
      cols: braced(signed(to.col - from.col, 0)),
      down: braced(degrees(down - first)),
      right: braced(degrees(right - first)),
    };
  const angle = Math.atan2(q[0] * k[1] - q[1] * k[0], q[0] * k[0] + q[1] * k[1]); // from q to k
  const product = { q: exactly(lengthOf(q)), k: exactly(lengthOf(k)) };
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const [before, after] = PARTS.map((part) => total(turn[part]));
  return [
    t(steps ? "turnAngle" : "turnNoPlace", { ...words, ...steps }),
    t("turnProduct", {
      ...product,
      angle: braced(degrees(angle)),
      apart: braced(degrees(apart)),
      before: exactly(turn.before[at]),
      after: exactly(turn.after[at]),
    }),
    t("turnSum", {
      before: exactly(before),
      after: exactly(after),
      first: exactly(scale * before),
      then: exactly(scale * after),
      times: exactly(Math.exp(scale * (after - before))),
    }),
  ];
}

const namesOf = (tokens, app) => [...new Set(tokens.map((token) => tokenName(token, app)))].join(", ");

/** A dial with the arrows of q and k. */
function createDial(title) {
  const size = 2 * MIDDLE;
  const hands = svg("g");
  const face = svg(
    "svg",
    { viewBox: "0 0 " + size + " " + size, class: "vv-chart", role: "img", "aria-label": title },
    svg("circle", { class: "vv-axis", cx: MIDDLE, cy: MIDDLE, r: REACH, fill: "none" }),
    svg("path", {
      class: "vv-axis",
      d: `M${MIDDLE - REACH} ${MIDDLE}h${2 * REACH}M${MIDDLE} ${MIDDLE - REACH}v${2 * REACH}`,
    }),
    hands,
  );
  const root = el("figure", { class: "vv-figure" }, el("figcaption", { text: title }), face);
  return {
    root,
    /** `old`: the arrows before the turn, drawn faintly. */
    draw(arrows, old, unit) {
      hands.replaceChildren(
        ...(old ?? []).map((arrow, i) => createHand(HANDS[i], arrow, unit, " vv-hand-old")),
        ...arrows.map((arrow, i) => createHand(HANDS[i], arrow, unit, "")),
      );
    },
  };
}

/**
 * An arrow from the middle, with its name outside; the names of two that point the same way stand beside each
 * other.
 */
function createHand(name, [a, b], unit, kind) {
  const angle = Math.atan2(b, a);
  const length = Math.hypot(a, b) * unit;
  const tip = (radius, turned) =>
    (MIDDLE + radius * Math.cos(angle + turned)).toFixed(2) +
    " " +
    (MIDDLE - radius * Math.sin(angle + turned)).toFixed(2);
  const [point, left, right] = [tip(length, 0), tip(length * 0.86, 0.09), tip(length * 0.86, -0.09)];
  const [x, y] = tip(REACH + 11, name === "q" ? 0.12 : -0.12).split(" ");
  return svg(
    "g",
    { class: "vv-hand" + (name === "q" ? " vv-hand-q" : "") + kind },
    svg("path", { d: `M${MIDDLE} ${MIDDLE}L${point}M${left}L${point}L${right}` }),
    kind ? null : svg("text", { x, y, dy: 4, "text-anchor": "middle", text: name }),
  );
}
