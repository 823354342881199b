/** The card at the end of a lesson: each question with what was guessed, what is, and the pupil's own reason. */

import { el, show } from "../parts/dom.js";

/** @param {import("../main.js").App} app */
export function createCard({ t, course }) {
  const root = el("ol", { class: "vv-lesson-found" });
  return { root, render };

  function render() {
    const entries = course.closed() ? course.found() : [];
    show(root, entries.length > 0);
    root.replaceChildren(...entries.map(({ told: [asked, gap], because }) => el("li", {}, el("p", { class: "vv-note", text: asked }), el("p", { text: gap }),
      because ? el("p", { class: "vv-note", text: t("lessonOwn", { because }) }) : null)));
  }
}
