/** Download: gives the visitor a file that this page has made, to keep or in a tab of its own. */

import { el } from "./dom.js";

/** @param {Blob} blob @param {string} name */
export const download = (blob, name) => give(blob, { download: name });

/** @param {Blob} blob */
export const openInTab = (blob) => give(blob, { target: "_blank", rel: "noopener" });

function give(blob, how) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, ...how }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // it has been read by then
}
