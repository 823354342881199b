/** What was done to the photo, and the offer to invert it where the model was not taught its ink. */

import { el } from "./dom.js";
import { button } from "./widgets.js";
import { translated } from "../text/words.js";

/**
 * One line for each note. The last one has a button that analyzes the photo again, inverted or as it was, if
 * the host can do so.
 * @param {import("../main.js").App} app
 * @returns {HTMLElement[]}
 */
export function createPhotoNotes(app) {
  const { t, source: { manifest: { photo } } } = app;
  const notes = photo.notes.map((note) => translated(note, app));
  if (photo.dark_ink) notes.push(t("darkInk"));
  const lines = notes.map((text) => el("p", { class: "vv-photo-note", text }));
  if (app.invert && (photo.inverted || photo.dark_ink)) {
    const [text, title] = photo.inverted ? [t("invertBack"), t("invertBackTitle")] : [t("invert"), t("invertTitle")];
    lines[lines.length - 1].append(" ", button({ text, title, onClick: app.invert }));
  }
  return lines;
}
