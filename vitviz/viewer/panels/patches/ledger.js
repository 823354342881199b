/** The ledger: the shape of every tensor from the pixels to the logits, block by block. */

import { el, setText, show } from "../../parts/dom.js";
import { shapeText } from "../../maths/numbers.js";
import { createTable } from "../../parts/table.js";
import { stepName } from "../../text/words.js";

/**
 * A table; the line under the pointer or in focus lights the part of the picture that it is about.
 * @param {import("../../main.js").App} app
 * @returns {HTMLElement}
 */
export function createLedger(app) {
  const { t } = app;
  const { manifest } = app.source;
  const before = manifest.model.steps.filter((step, at) => !step.in_block && at < firstOfBlock());
  const ofBlock = manifest.model.steps.filter((step) => step.in_block);
  const after = manifest.model.steps.filter((step, at) => !step.in_block && at > firstOfBlock());
  const blocks = Array.from({ length: manifest.model.depth }, (_, layer) => createBlock(layer));
  const table = createTable(
    t,
    ["step", "shape", "module"],
    el(
      "tbody",
      { onkeydown: moveLine, onfocusin: stopAt },
      ...before.map((step) => line(step)),
      ...blocks.flatMap(({ head, lines }) => [head, ...lines]),
      ...after.map((step) => line(step)),
    ),
  );
  // The table is one stop for the Tab key; the arrow keys go from line to line.
  lines()[0].tabIndex = 0;
  return table;

  function firstOfBlock() {
    return manifest.model.steps.findIndex((step) => step.in_block);
  }

  function line(step, module = step.module, className = null) {
    const row = el(
      "tr",
      { class: className, tabindex: "-1" },
      el("th", { scope: "row", text: stepName(step.name, t) }),
      el("td", { class: "vv-shape", text: shapeText(step.shape) }),
      el("td", { class: "vv-module", text: module }),
    );
    lights(row, step.tokens);
    return row;
  }

  function lights(row, tokens) {
    const part = tokens === null ? "picture" : { first: tokens[0], end: tokens[1] };
    for (const kind of ["pointerenter", "focus"]) row.addEventListener(kind, () => app.pointer.light(part));
    for (const kind of ["pointerleave", "blur"]) row.addEventListener(kind, () => app.pointer.light(null));
  }

  function createBlock(layer) {
    const last = ofBlock[ofBlock.length - 1];
    const sign = el("span", { class: "vv-fold", "aria-hidden": "true" });
    const toggle = el(
      "button",
      { type: "button", class: "vv-word", tabindex: "-1" },
      sign,
      el("span", { text: t("block", { layer }) }),
    );
    const head = el(
      "tr",
      { class: "vv-block-line", tabindex: "-1" },
      el("th", { scope: "row" }, toggle),
      el("td", { class: "vv-shape", text: shapeText(last.shape) }),
      el("td", { class: "vv-module", text: "blocks." + layer }),
    );
    lights(head, last.tokens);
    const details = ofBlock.map((step) => line(step, step.module.replace("*", String(layer)), "vv-in-block"));
    // The first block is open, as an example of all.
    const open = (wanted) => {
      toggle.setAttribute("aria-expanded", String(wanted));
      setText(sign, wanted ? "▾" : "▸");
      for (const row of details) show(row, wanted);
    };
    head.addEventListener("click", () => open(toggle.getAttribute("aria-expanded") !== "true"));
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      head.click();
    });
    open(layer === 0);
    return { head, lines: details };
  }

  function lines() {
    return [...table.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
  }

  /** Makes a line the Tab stop, also one that the pointer focuses: that may fold away the line before. */
  function stopAt({ target }) {
    for (const row of table.querySelectorAll("tbody tr"))
      row.tabIndex = row === target.closest("tr") ? 0 : -1;
  }

  function moveLine(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = lines();
    const at = all.indexOf(event.target.closest("tr"));
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    all[Math.max(0, Math.min(all.length - 1, at + step))].focus();
  }
}
