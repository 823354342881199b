/** Panel Predictions: the most probable classes, or why this model names none. */

import { caution } from "../caution.js";
import { el } from "../dom.js";
import { grouped, percent, signed } from "../numbers.js";

export const predictions = { id: "predictions", create };

function create(app) {
  const { t, manifest } = app;
  const { model } = manifest;
  const best = manifest.predictions;
  const answer = best.length > 0
    ? [el("p", { class: "vv-intro", text: t("predictionsIntro", { model: model.title }) }),
      el("ol", { class: "vv-predictions" }, ...best.map(bar)),
      restOf(best)]
    : [el("p", { class: "vv-intro", text: t(
      model.head === "embedding" ? "headEmbedding" : "headNone", { model: model.title }) })];
  const root = el("div", {}, ...answer, facts(app), best.length > 0 ? caution(t) : null);
  return { root, render() {} };

  function bar({ label, index, probability, logit }, at) {
    const fill = el("span", { class: "vv-fill" });
    fill.style.width = 100 * probability + "%";
    return el("li", { class: at === 0 ? "vv-best" : null },
      el("span", { class: "vv-label", text: label, title: t("classNumber", { index }) }),
      el("b", { text: percent(probability) }),
      el("span", { class: "vv-track", "aria-hidden": "true" }, fill),
      el("span", { class: "vv-logit", text: t("logit", { logit: signed(logit).trim() }) }));
  }

  function restOf(entries) {
    const rest = 1 - entries.reduce((sum, { probability }) => sum + probability, 0);
    return el("p", { class: "vv-note", text: t("restOfClasses", { share: percent(Math.max(0, rest)) }) });
  }
}

/** What is known about the model: its card. */
function facts({ t, manifest }) {
  const { model } = manifest;
  const rows = [
    [t("model"), model.name], [t("source"), model.source],
    [t("parameters"), grouped(model.num_parameters)],
    ...(model.temperature && model.temperature !== 1
      ? [[t("temperature"), String(Number(model.temperature.toFixed(3)))]] : []),
    ...Object.entries(model.details).filter(([name]) => name !== "title"),
  ];
  return el("details", { class: "vv-facts" }, el("summary", { text: t("aboutModel") }),
    el("dl", {}, ...rows.flatMap(([name, value]) =>
      [el("dt", { text: name }), el("dd", { text: String(value) })])));
}
