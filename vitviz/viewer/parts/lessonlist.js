/** The list of lessons, in a dialog that Escape closes. */

import { el } from "./dom.js";
import { button } from "./widgets.js";

/**
 * @param {(key: string, values?: any) => string} t
 * @param {import("../lessons/steps.js").Lesson[]} lessons
 * @param {null|((lesson: import("../lessons/steps.js").Lesson) => string)} linkOf  null in a page without links
 * @param {(id: string) => void} start  opens a lesson in this page
 * @returns {HTMLDialogElement}
 */
export function createLessonList(t, lessons, linkOf, start) {
  const open = (lesson) => {
    if (linkOf) return el("a", { href: linkOf(lesson), text: t("lesson." + lesson.id) });
    const name = t("lesson." + lesson.id);
    return button({ text: name, title: name, onClick: () => { dialog.close(); start(lesson.id); } });
  };
  const dialog = el("dialog", { class: "vv-help vv-lesson-list", "aria-label": t("lessons") },
    el("div", { class: "vv-help-head" }, el("h3", { text: t("lessons") }),
      button({ text: "✕", title: t("close"), onClick: () => dialog.close() })),
    el("p", { class: "vv-note", text: t("lessonsIntro") }),
    el("ol", {}, ...lessons.map((lesson) => el("li", {}, open(lesson),
      el("span", { class: "vv-note", text: " " + t("lessonMinutes", { minutes: lesson.minutes }) }),
      el("p", { text: t("lesson." + lesson.id + "_goal") })))));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  return dialog;
}
