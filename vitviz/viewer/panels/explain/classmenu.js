/** The menu of the class that is explained: the answer, the most probable ones, then all others. */

import { LIKE } from "../../data/explanations.js";
import { el, freshId, show } from "../../parts/dom.js";
import { ANSWER, targetOf } from "../../state/explaining.js";
import { numberTexts } from "../../maths/numbers.js";
import { refuses } from "../../text/answer.js";
import { className } from "../../text/explaining.js";
import { labelName } from "../../text/words.js";

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createClassMenu(app) {
  const { t } = app;
  const { predictions } = app.source.manifest.pass;
  const { labels } = app.source.manifest.model;
  const denied = refuses(app.source);
  const first =
    app.source.manifest.model.trained === false
      ? "explainChance"
      : denied
        ? "explainNearest"
        : "explainAnswer";
  const id = freshId("class");
  const select = el("select", {
    id,
    class: "vv-select",
    onchange: () =>
      app.select({ target: [ANSWER, LIKE].includes(select.value) ? select.value : Number(select.value) }),
  });
  const root = el(
    "div",
    { class: "vv-class-menu" },
    el("label", { for: id, text: t("explainClass") }),
    select,
  );
  let written = "";
  return {
    root,
    render() {
      show(root, predictions.length > 0);
      if (predictions.length === 0) return;
      const target = targetOf(app.selection, app.source);
      const wanted = app.selection.target === ANSWER ? ANSWER : String(target);
      const { other } = app.source.explanations;
      if (written !== wanted + Boolean(other)) {
        written = wanted + Boolean(other);
        fill(target, other);
      }
      if (select.value !== wanted) select.value = wanted;
    },
  };

  function fill(target, other) {
    const option = (index, text) => el("option", { value: String(index), text });
    const listed = predictions.map(({ index }) => index);
    const shares = numberTexts(predictions);
    const others = (labels ?? [])
      .map((label, index) => ({ label: labelName(label, app), index }))
      .filter(({ index }) => !listed.includes(index))
      .sort((a, b) => a.label.localeCompare(b.label, app.language));
    // A class from a link, whose name was not sent.
    const missing =
      labels === null && target !== LIKE && !listed.includes(target)
        ? [option(target, className(target, app))]
        : [];
    select.replaceChildren(
      option(ANSWER, t(first, { label: className(predictions[0].index, app) })),
      other ? option(LIKE, className(LIKE, app)) : "",
      el(
        "optgroup",
        { label: t("explainProbable") },
        ...predictions.map(({ index }, at) =>
          option(index, className(index, app) + (denied ? "" : " · " + shares[at])),
        ),
        ...missing,
      ),
      others.length > 0
        ? el(
            "optgroup",
            { label: t("explainOthers") },
            ...others.map(({ index, label }) => option(index, label)),
          )
        : "",
    );
  }
}
