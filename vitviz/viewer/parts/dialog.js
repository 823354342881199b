/** Dialogs, and the heads of parts that can be closed. */

import { el } from "./dom.js";
import { button } from "./widgets.js";

/**
 * A title with a cross beside it.
 * @param {(key: string) => string} t
 * @param {string|HTMLElement} title
 * @param {() => void} close
 */
export const headOf = (t, title, close) =>
  el(
    "div",
    { class: "vv-help-head" },
    typeof title === "string" ? el("h3", { text: title }) : title,
    button({ text: "✕", title: t("close"), onClick: close }),
  );

/**
 * A dialog that its cross closes, Escape, and a click outside of it.
 * @param {(key: string) => string} t
 * @param {string|HTMLElement} title
 * @param {string} kind  its classes
 * @param {...(Node|null)} nodes
 */
export function createDialog(t, title, kind, ...nodes) {
  const dialog = el(
    "dialog",
    { class: kind, "aria-label": typeof title === "string" ? title : null },
    headOf(t, title, () => dialog.close()),
    ...nodes,
  );
  // A click on the backdrop closes the dialog; a text selection that began inside and ends there does not.
  let outside = false;
  dialog.addEventListener("pointerdown", ({ target }) => (outside = target === dialog));
  dialog.addEventListener("click", ({ target }) => {
    if (outside && target === dialog) dialog.close();
  });
  return dialog;
}
