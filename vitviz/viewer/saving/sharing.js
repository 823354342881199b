/** Sharing: a button that copies the link, and says what the link does not contain. */

import { el, setText, show } from "../parts/dom.js";
import { button } from "../parts/widgets.js";

const SAID_MS = 6000;

/**
 * @param {import("../main.js").App} app
 * @returns {{button: HTMLElement, note: HTMLElement, dialog: HTMLDialogElement,
 *   destroy: () => void}}
 */
export function createSharing(app) {
  const { t } = app;
  const { manifest } = app.source;
  // Only pictures that the host shows to everybody have a name in the link.
  const own = !manifest.link?.example;
  const title = t(own ? "copyLinkOwn" : "copyLinkTitle");
  const note = el("p", { class: "vv-note vv-said", role: "status", hidden: true });
  const field = el("input", { type: "text", readonly: true, class: "vv-link", "aria-label": t("copyLink") });
  const dialog = el(
    "dialog",
    { class: "vv-help vv-link-dialog", "aria-label": t("copyLink") },
    el("p", { text: t("copyByHand") }),
    field,
    own ? el("p", { class: "vv-note", text: t("linkOwn") }) : null,
    button({ text: t("close"), onClick: () => dialog.close() }),
  );
  let late = 0;
  return {
    button: button({ text: t("copyLink"), title, onClick: copy }),
    note,
    dialog,
    destroy: () => clearTimeout(late),
  };

  async function copy() {
    const link = app.page.link();
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      // Without https or permission a page cannot write to the clipboard: the visitor copies by hand.
      field.value = link;
      dialog.showModal();
      field.select();
      return;
    }
    const { beside, lesson } = app.selection; // a step of a lesson puts beside what it needs
    const without = beside !== "" && lesson === "" && !new URL(link).searchParams.has("beside");
    const said = ["linkCopied", own && "linkOwn", without && "linkWithout"];
    setText(note, said.flatMap((key) => (key ? [t(key)] : [])).join(" "));
    show(note, true);
    clearTimeout(late);
    late = setTimeout(() => show(note, false), SAID_MS);
  }
}
