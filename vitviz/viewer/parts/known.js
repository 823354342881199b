/** Known or not: the score of the picture beside the threshold, and how good the threshold is. */

import { el } from "./dom.js";
import { knownTexts } from "../text/known.js";

/**
 * @param {import("../main.js").App} app
 * @returns {HTMLElement|null}  null if the model was not trained to tell its classes from others
 */
export function createKnown(app) {
  const texts = knownTexts(app);
  if (!texts) return null;
  return el("section", { class: "vv-known" }, el("h4", { text: app.t("knownTitle") }),
    el("p", { text: texts.verdict }), el("p", { class: "vv-note", text: texts.about.join(" ") }));
}
