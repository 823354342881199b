/** The list of lessons, in a dialog that Escape closes: for a pupil to open, for a teacher to hand out. */

import { createDialog } from "../parts/dialog.js";
import { el } from "../parts/dom.js";
import { competencesOf, goalOf, titleOf } from "../text/lesson.js";
import { OWN } from "../lessons/own.js";
import { originOf } from "../lessons/course.js";
import { firstOf, stepAt } from "../lessons/steps.js";
import { createCheckClass } from "./checkclass.js";
import { createOwnLesson } from "./ownlesson.js";
import { createPlans } from "./plans.js";
import { createCheckLine } from "./selfcheck.js";
import { button } from "../parts/widgets.js";

/** Part of a plan that is no lesson, but has a page: a model is taught things from the room. */
const THINGS = "things";

/**
 * @param {import("../main.js").App} app
 * @param {import("../lessons/steps.js").Lesson[]} lessons
 * @param {null|((origin: any) => string)} linkTo  the link to a step; null in a page without links
 * @returns {HTMLDialogElement}
 */
export function createLessonList(app, lessons, linkTo) {
  const { t } = app;
  const linkOf = (lesson, step) =>
    linkTo({ ...originOf(lesson, stepAt(lesson, step)), lesson: lesson.id, step });
  const open = (lesson) => {
    const title = titleOf(app, lesson);
    if (linkTo && lesson.id !== OWN) return el("a", { href: linkOf(lesson, firstOf(lesson)), text: title });
    return button({ text: title, onClick: () => begin(lesson) });
  };
  const begin = ({ id }, at = undefined) => {
    if (!app.source) return;
    dialog.close();
    app.course.start(id, at);
  };
  const item = (lesson) =>
    el(
      "li",
      {},
      open(lesson),
      el("span", { class: "vv-note", text: " " + t("lessonMinutes", { minutes: lesson.minutes }) }),
      el("p", { text: goalOf(app, lesson) || t("ownGoal") }),
    );
  const refused = app.teaching.shelf.refused();
  const dialog = createDialog(
    t,
    t("lessons"),
    "vv-help vv-lesson-list",
    refused ? el("p", { class: "vv-untrained", role: "alert", text: t(refused.key, refused.values) }) : null,
    el("p", {
      class: "vv-note",
      text: t("lessonsIntro") + " " + t(app.teaching.room ? "lessonsSent" : "lessonsKept"),
    }),
    createCheckLine(app, selfCheck),
    el("ol", {}, ...lessons.map(item)),
    linkTo ? part("plan.title", createPlans(app, planned)) : null,
    linkTo ? part("lessonTeacherLinks", handout()) : null,
    linkTo
      ? part(
          "own",
          createOwnLesson(app, linkTo, (at) => begin({ id: OWN }, at)),
        )
      : null,
    part("check.class", createCheckClass(app)),
  );
  // it is made anew with what has been collected by then
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;

  /** A part for teachers, which opens. */
  function part(key, content) {
    return el("details", { class: "vv-lesson-teacher" }, el("summary", { text: t(key) }), content);
  }

  /** In place of the list, which would know nothing of what is answered. */
  function selfCheck(check) {
    dialog.after(check);
    dialog.close();
    check.showModal();
  }

  /** The link to a part of a plan, if it is a lesson, or what is taught in the playground. */
  function planned(id, step) {
    const lesson = lessons.find((other) => other.id === id);
    if (lesson) return linkOf(lesson, step ?? firstOf(lesson));
    if (id !== THINGS || !app.page.play) return null;
    const url = new URL(linkOf(lessons[0], 1));
    url.search = String(new URLSearchParams({ teach: "", lang: app.language }));
    return url.href;
  }

  /** For each lesson its competences, the links to its steps, and to its key. */
  function handout() {
    return el(
      "div",
      {},
      el("p", { class: "vv-note", text: t("lessonTeacherHelp") }),
      el(
        "ul",
        { class: "vv-handout" },
        ...lessons
          .filter(({ id }) => id !== OWN)
          .map((lesson) =>
            el(
              "li",
              {},
              el("b", { text: titleOf(app, lesson) }),
              el("span", { class: "vv-note", text: " " + t("lessonMinutes", { minutes: lesson.minutes }) }),
              el("p", { class: "vv-note", text: competencesOf(app, lesson.id) }),
              el(
                "p",
                { class: "vv-handout-links" },
                ...lesson.steps.map((_step, at) =>
                  el("a", { href: linkOf(lesson, at + 1), text: t("lessonStepLink", { step: at + 1 }) }),
                ),
                el("a", { href: withKey(linkOf(lesson, 1)), text: t("lessonKey") }),
              ),
            ),
          ),
      ),
    );
  }
}

/** The link that opens the key of a lesson. @param {string} href */
function withKey(href) {
  const url = new URL(href);
  url.searchParams.set("key", "true");
  return url.href;
}
