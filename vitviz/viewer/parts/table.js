/** A table that scrolls sideways where it is too wide. */

import { el } from "./dom.js";

/**
 * @param {(key: string) => string} t
 * @param {string[]} columns  keys of their names
 * @param {HTMLElement} body
 */
export const createTable = (t, columns, body) =>
  el(
    "div",
    { class: "vv-scroll" },
    el(
      "table",
      { class: "vv-ledger" },
      el("thead", {}, el("tr", {}, ...columns.map((key) => el("th", { scope: "col", text: t(key) })))),
      body,
    ),
  );
