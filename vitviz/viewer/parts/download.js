/** Download: gives the visitor a file that this page has made, to keep or in a tab of its own. */

import { csvText } from "../maths/csv.js";
import { el } from "./dom.js";

/** A table for spreadsheets, which know by its mark that it is UTF-8. @param {import("../maths/csv.js").Table} table */
export const csvFile = (table) => new Blob(["\ufeff" + csvText(table)], { type: "text/csv;charset=utf-8" });

/** @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const url = give(blob, { download: name });
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // it has been read by then
}

/** Its address stays for as long as this page: the tab can be loaded again. @param {Blob} blob */
export function openInTab(blob) {
  give(blob, { target: "_blank", rel: "noopener" });
}

function give(blob, how) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, ...how }).click();
  return url;
}
