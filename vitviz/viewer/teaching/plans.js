/** Plans for a class on the screen and on paper: what is done in which minute. */

import { PLANS } from "../lessons/plans.js";
import { el } from "../parts/dom.js";
import { button } from "../parts/widgets.js";
import { planRows, planTeaches, servedBy } from "../text/lesson.js";
import { openPaper, paper } from "./paper.js";

/**
 * @param {import("../main.js").App} app
 * @param {(lesson: string, step: number|undefined) => string|null} linkTo  to a step, or to the first one;
 *   null where `lesson` is none
 * @returns {HTMLElement}
 */
export function createPlans(app, linkTo) {
  const { t } = app;
  return el(
    "div",
    { class: "vv-plans" },
    el("p", { class: "vv-note", text: t("plan.help") }),
    ...PLANS.map((plan) =>
      el(
        "details",
        {},
        el("summary", { text: t("plan.name_" + plan.id) }),
        el("p", { text: t("plan.for_" + plan.id) }),
        tableOf(app, plan, linkTo),
        ...notesOn(app, plan, "vv-note"),
        el(
          "div",
          { class: "vv-lesson-buttons" },
          button({
            text: t("plan.paper"),
            title: t("plan.paperTitle"),
            onClick: () => openPaper(onPaper(app, plan)),
          }),
        ),
      ),
    ),
  );
}

/** @param {import("../main.js").App} app @param {import("../lessons/plans.js").Plan} plan */
function onPaper(app, plan) {
  const { t } = app;
  return paper(
    app.language,
    t("plan.name_" + plan.id),
    [
      el("p", { class: "about", text: t("plan.for_" + plan.id) }),
      tableOf(app, plan, () => null),
      ...notesOn(app, plan, "about"),
    ],
    "plan",
  );
}

/** Two notes on a plan: the questions of the self-check that it teaches, and its competences. */
const notesOn = (app, plan, look) =>
  [
    planTeaches(app, plan),
    servedBy(
      app,
      plan.parts.map(({ does }) => does),
    ),
  ].map((text) => el("p", { class: look, text }));

function tableOf(app, plan, linkTo) {
  const { t } = app;
  const cells = (...texts) => texts.map((text) => el("td", { text: String(text) }));
  const row = ({ from, minutes, does, what, how }, at) => {
    const href = linkTo(does, plan.parts[at].steps?.[0]);
    return el(
      "tr",
      {},
      ...cells(from, minutes),
      el("td", {}, href ? el("a", { href, text: what }) : what),
      ...cells(how),
    );
  };
  return el(
    "table",
    { class: "vv-plan" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...["plan.from", "plan.minutes", "plan.what", "plan.how"].map((key) =>
          el("th", { scope: "col", text: t(key) }),
        ),
      ),
    ),
    el(
      "tbody",
      {},
      ...planRows(app, plan).map(row),
      el("tr", {}, ...cells("", plan.minutes, t("plan.sum"), "")),
    ),
  );
}
