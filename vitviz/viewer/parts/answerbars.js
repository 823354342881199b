/** The predictions of two analyses: for each class the bar of one above the bar of the other. */

import { el, show } from "./dom.js";
import { besideEachOther } from "../maths/difference.js";
import { digits, percents } from "../maths/numbers.js";
import { refuses } from "../text/answer.js";
import { labelName, sideNames } from "../text/words.js";

const MOST = 5;

/**
 * @param {import("../main.js").App} app
 * @param {import("../main.js").App} other
 * @returns {import("../types.js").Panel}
 */
export function createAnswerBars(app, other) {
  const { t } = app;
  const sides = [app, other];
  const names = sideNames(app, other);
  const answers = sides.map(({ source }) => source.manifest.pass.predictions);
  if (answers.some((list) => list.length === 0)) return { root: el("div"), render() {} };
  const listed = besideEachOther(answers[0], answers[1], MOST);
  const values = sides.map((side, at) =>
    listed.map(({ label, first, second }) => [first, second][at] ?? restOf(side, label)),
  );
  const areValues = sides.map(({ source }) => source.manifest.model.outputs === "value");
  const shares = values.map((column, at) =>
    areValues[at] ? column.map((value) => digits(value ?? 0)) : percents(column.map((value) => value ?? 0)),
  );
  const rows = listed.map(({ label, first, second }, row) =>
    el(
      "li",
      {},
      el("span", { class: "vv-label", text: labelName(label, first === null ? other : app), title: label }),
      ...[first, second].map((value, at) => bar(values[at][row], value !== null, at, shares[at][row])),
    ),
  );
  const key = el(
    "p",
    { class: "vv-note vv-both-key" },
    ...names.map((name, at) => el("span", { class: "vv-side-" + at, text: name })),
  );
  const root = el(
    "section",
    { class: "vv-both-answers", "aria-label": t("besideAnswers") },
    el("h4", { text: t("besideAnswers") }),
    key,
    el("ol", {}, ...rows),
  );
  return { root, render() {} };

  /** `value`: for a class that is not listed its upper bound; null if the model has no such class. */
  function bar(value, listed, at, share) {
    const fill = el("span", { class: "vv-fill" });
    show(fill, listed && !areValues[at]);
    if (listed) fill.style.width = 100 * value + "%";
    const text = refuses(sides[at].source)
      ? t("noShare")
      : listed || (areValues[at] && value !== null)
        ? share
        : value === null
          ? t("besideNoClass")
          : t("besideLess", { share });
    return el(
      "span",
      { class: "vv-both-bar vv-side-" + at },
      el("span", { class: "vv-track", "aria-hidden": "true" }, fill),
      el("b", { text, "aria-label": names[at] + ": " + text }),
    );
  }
}

/** The upper bound of the probability of a class that is not listed; null if the model lacks the class. */
function restOf({ source: { manifest } }, label) {
  const {
    pass: { predictions },
    model,
  } = manifest;
  const { num_classes: classes } = model;
  if (predictions.length === classes || model.outputs === "value") return null;
  if (model.labels && !model.labels.includes(label)) return null;
  return predictions[predictions.length - 1].probability;
}
