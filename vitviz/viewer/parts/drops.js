/**
 * Drops: a part of the page that takes files itself, dropped on it or chosen. The page takes what is dropped
 * anywhere else.
 */

import { el } from "./dom.js";

/**
 * A hidden file field that a button clicks; the same files can be chosen again.
 * @param {string} accept
 * @param {(files: File[]) => void} take  at least one
 */
export function fileField(accept, take, multiple = false) {
  const input = el("input", {
    type: "file",
    accept,
    multiple,
    hidden: true,
    onchange() {
      const files = [...(input.files ?? [])];
      input.value = "";
      if (files.length > 0) take(files);
    },
  });
  return input;
}

/**
 * Hears of each dialog for pictures that opens, whoever opens it: what a photo needs can come meanwhile.
 * @param {() => void} opened
 * @returns {() => void}  ends that
 */
export function listenToDialogs(opened) {
  const hear = ({ target }) => {
    const { type, accept = "" } = /** @type {any} */ (target);
    if (type === "file" && accept.startsWith("image")) opened();
  };
  document.addEventListener("click", hear, true);
  return () => document.removeEventListener("click", hear, true);
}

/**
 * Picks one photo from files that come together: the first that is a picture by its type.
 * @param {FileList} files
 */
export const photoAmong = (files) => [...files].find(({ type }) => type.startsWith("image/")) ?? files[0];

/** The event that hands files to a part. The code of a part may come in another file than its host's. */
const FILES = "vv-files";

/**
 * Gives files that came to a place of the page to the part at that place, or to a visible one that takes all
 * that does not fall on the picture.
 * @param {Element} place
 * @param {FileList} files
 * @returns {boolean}  whether a part has them; else they are for the page
 */
export function giveToPart(place, files) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".vv-takes-all")]);
  const part =
    place.closest?.(".vv-takes-photos") ??
    (place.closest?.(".vv-frame") ? null : all.find(({ offsetParent }) => offsetParent !== null));
  part?.dispatchEvent(new CustomEvent(FILES, { detail: { files, on: place } }));
  return Boolean(part);
}

/**
 * @template {HTMLElement} T
 * @param {T} node
 * @param {(files: FileList, on: Node) => void} take  on: the part of the node on which they were dropped
 * @returns {T}
 */
export function takesDrops(node, take) {
  node.classList.add("vv-takes-photos");
  node.addEventListener(FILES, (event) => {
    const { files, on } = /** @type {CustomEvent} */ (event).detail;
    take(files, on);
  });
  for (const type of ["dragover", "dragleave", "drop"]) {
    node.addEventListener(type, (event) => {
      const { dataTransfer, relatedTarget } = /** @type {DragEvent} */ (event);
      if (!dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      const inside = type === "dragleave" && node.contains(/** @type {any} */ (relatedTarget));
      node.classList.toggle("vv-dropping", type === "dragover" || inside);
      if (type === "drop") take(dataTransfer.files, /** @type {Node} */ (event.target));
    });
  }
  return node;
}
