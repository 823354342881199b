/** The row of scores and their softmax, with the shown key marked. */

import { strongest } from "../../maths/attention.js";
import { el, setText, show } from "../../parts/dom.js";
import { digits, percent } from "../../maths/numbers.js";
import { svg } from "../../parts/svg.js";
import { createTable } from "../../parts/table.js";
import { tokenName } from "../../text/words.js";

const [WIDTH, HEIGHT] = [600, 70];
const PARTNERS = 5;

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (pair: import("../../maths/pair.js").Pair, key: number) => void}}
 */
export function createSoftmaxRow(app) {
  const { t } = app;
  const { grid } = app.source;
  const charts = ["scores", "attention"].map((part) => createBars(app, part));
  const entries = Array.from({ length: Math.min(PARTNERS, grid.tokens) + 1 }, () => createEntry(app));
  const root = el(
    "div",
    { class: "vv-softmax" },
    ...charts.map((chart) => chart.root),
    createTable(
      t,
      ["rowKey", "rowScore", "rowShare"],
      el("tbody", {}, ...entries.map((entry) => entry.root)),
    ),
  );
  return {
    root,
    render(pair, key) {
      for (const chart of charts) chart.render(pair, key);
      const best = strongest(pair.attention, PARTNERS);
      const shown = best.includes(key) ? best : [...best, key];
      entries.forEach((entry, at) => entry.render(shown[at], pair, key));
    },
  };
}

/** A bar for every token; pointing at a bar points at its token. */
export function createBars(app, part) {
  const { t } = app;
  const { grid } = app.source;
  const bars = svg("path", { class: "vv-bars" });
  const chosen = svg("path", { class: "vv-bar-chosen" });
  const zero = svg("line", { class: "vv-axis", x1: 0, x2: WIDTH });
  const chart = svg(
    "svg",
    {
      viewBox: "0 0 " + WIDTH + " " + HEIGHT,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": t("row_" + part),
    },
    zero,
    bars,
    chosen,
  );
  const low = el("span");
  const high = el("span");
  const thick = Math.max(0.5, (0.8 * WIDTH) / grid.tokens);
  for (const path of [bars, chosen]) path.setAttribute("stroke-width", thick);
  const tokenOf = (event) => {
    const box = chart.getBoundingClientRect();
    const token = Math.floor(((event.clientX - box.left) / box.width) * grid.tokens);
    return token >= 0 && token < grid.tokens ? token : null;
  };
  chart.addEventListener("pointermove", (event) => app.pointer.pointPartner(tokenOf(event)));
  chart.addEventListener("pointerleave", () => app.pointer.pointPartner(null));
  chart.addEventListener("click", (event) => {
    const token = tokenOf(event);
    if (token !== null) app.select({ partner: token });
  });
  return {
    root: el(
      "figure",
      { class: "vv-bars-figure" },
      el("figcaption", {}, el("span", { text: t("row_" + part) }), el("span", {}, low, high)),
      chart,
    ),
    render(pair, key) {
      const values = pair[part];
      const max = Math.max(0, ...values);
      const min = Math.min(0, ...values);
      const y = (value) => ((max - value) / (max - min || 1)) * HEIGHT;
      const bar = (token) => {
        const x = ((token + 0.5) / grid.tokens) * WIDTH;
        return `M${x.toFixed(2)} ${y(0).toFixed(2)}V${y(values[token]).toFixed(2)}`;
      };
      let path = "";
      for (let token = 0; token < grid.tokens; token++) path += bar(token);
      bars.setAttribute("d", path);
      chosen.setAttribute("d", bar(key));
      zero.setAttribute("y1", y(0));
      zero.setAttribute("y2", y(0));
      setText(low, digits(min) + " … ");
      setText(high, digits(max));
    },
  };
}

/** One key of the row with its numbers; a click selects it. */
function createEntry(app) {
  const name = el("button", {
    type: "button",
    class: "vv-word",
    onclick: () => app.select({ partner: entry.token }),
  });
  const score = el("td");
  const share = el("td");
  const root = el("tr", {}, el("th", { scope: "row" }, name), score, share);
  const entry = { root, token: 0, render };
  return entry;

  function render(token, pair, key) {
    show(root, token !== undefined);
    if (token === undefined) return;
    entry.token = token;
    root.classList.toggle("vv-chosen", token === key);
    setText(name, tokenName(token, app));
    setText(score, digits(pair.scores[token]));
    setText(share, digits(pair.attention[token]) + " = " + percent(pair.attention[token]));
  }
}
