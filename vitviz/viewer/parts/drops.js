/** Drops: a part of the page that takes files itself. The page takes what is dropped anywhere else. */

/**
 * @template {HTMLElement} T
 * @param {T} node
 * @param {(files: FileList) => void} take
 * @returns {T}
 */
export function takesDrops(node, take) {
  node.classList.add("vv-takes-photos");
  for (const type of ["dragover", "dragleave", "drop"]) {
    node.addEventListener(type, (event) => {
      const { dataTransfer, relatedTarget } = /** @type {DragEvent} */ (event);
      if (!dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      const inside = type === "dragleave" && node.contains(/** @type {any} */ (relatedTarget));
      node.classList.toggle("vv-dropping", type === "dragover" || inside);
      if (type === "drop") take(dataTransfer.files);
    });
  }
  return node;
}
