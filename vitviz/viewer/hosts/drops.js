/** Drops: a photo can be dropped, and pasted, anywhere on a page. */

/**
 * Parts of the viewer that take files themselves (parts/drops.js) are left alone; nobody else hears of the
 * others. While files are above the page it has the class "vv-dropping-on-page".
 * @param {(files: FileList) => void} take
 */
export function takesPhotos(take) {
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
        if (type === "drop" && dataTransfer.files[0]) take(dataTransfer.files);
      },
      true,
    );
  }
  document.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!relatedTarget) over(false);
  });
  document.addEventListener("paste", ({ target, clipboardData }) => {
    const written = /** @type {Element} */ (target).closest?.("input, textarea");
    if (!written && clipboardData?.files[0]) take(clipboardData.files);
  });
}
