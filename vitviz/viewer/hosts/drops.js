/** Drops: a photo can be dropped, and pasted, anywhere on a page. */

import { giveToPart } from "../parts/drops.js";

/**
 * Takes files that are dropped or pasted on the page. Those that come to a part of the viewer that takes
 * files itself (parts/drops.js) go to that part; no other listener hears of the other drops. While files are
 * above the page, but not above such a part, the page has the class "vv-dropping-on-page".
 * @param {(files: FileList) => void} take
 * @param {() => void} nothing  something was pasted that is no file
 */
export function takesPhotos(take, nothing) {
  const root = document.documentElement;
  const over = (is) => root.classList.toggle("vv-dropping-on-page", is);
  for (const type of ["dragover", "drop"]) {
    document.addEventListener(
      type,
      (event) => {
        const { dataTransfer, target } = /** @type {DragEvent} */ (event);
        if (!dataTransfer?.types.includes("Files")) return;
        if (/** @type {Element} */ (target).closest?.(".vv-takes-photos")) {
          over(false);
          return;
        }
        event.preventDefault();
        event.stopPropagation();
        over(type === "dragover");
        if (type === "drop" && dataTransfer.files[0]) give(target, dataTransfer.files);
      },
      true,
    );
  }
  document.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!relatedTarget) over(false);
  });
  document.addEventListener("paste", ({ target, clipboardData }) => {
    if (/** @type {Element} */ (target).closest?.("input, textarea")) return;
    if (clipboardData?.files[0]) give(target, clipboardData.files);
    else nothing();
  });

  function give(target, files) {
    if (!giveToPart(target, files)) take(files);
  }
}
