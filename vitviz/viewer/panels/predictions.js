/** Panel Predictions: the answer as a phrase, groups and classes, and the logit lens. */

import { createAnswerBars } from "../parts/answerbars.js";
import { caution } from "../parts/caution.js";
import { el, setText } from "../parts/dom.js";
import { choosesOne } from "../maths/outputs.js";
import { refuses } from "../text/answer.js";
import { LENSES, createLens } from "./predictions/lens.js";
import { oneOf } from "../state/panels.js";
import { numberTexts, percent, percents, signed } from "../maths/numbers.js";
import { predictionsFinding } from "../text/findings.js";
import { knownTexts } from "../text/novelty.js";
import { codeOf } from "../text/python.js";
import { groupName, labelName, translated } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const predictions = {
  id: "predictions",
  group: "why",
  whole: true,
  prefers: { lens: oneOf(LENSES) },
  both: createAnswerBars,
  explains: ["answer"],
  lights: () => ["answer"],
  create,
  saves,
  code,
};

const MOST_GROUPS = 5;
/** The cells of plain PyTorch, by outputs: a softmax, sigmoids, or the logits themselves. */
const CELLS = { one_of: "", any_of: "_any_of", score: "_any_of", value: "_value" };

/** The probabilities of the classes that are listed, and of those that the logit lens follows. */
function code(selection, source) {
  const { manifest } = source;
  const { predictions, lens } = manifest.pass;
  const count = predictions.length;
  if (count === 0) return null;
  const classes = lens.map(({ index }) => index);
  const cell = lens.length > 0 ? "lens" : "predictions";
  const cells = { vitviz: [cell], torch: [cell + CELLS[manifest.model.outputs]] };
  return codeOf(manifest, cells, { count, classes });
}

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { manifest } = app.source;
  const { model } = manifest;
  const groups = manifest.pass.groups.slice(0, MOST_GROUPS);
  const classes = manifest.pass.predictions;
  if (classes.length === 0) {
    const why =
      { embedding: "headEmbedding", tokens: "headTokens" }[/** @type {string} */ (model.head)] ?? "headNone";
    return {
      root: el(
        "div",
        {},
        el("p", { class: "vv-text", text: t(why, { model: translated(model.title, app) }) }),
      ),
      render() {},
    };
  }
  const denied = refuses(app.source); // the order is what it would choose, and no share says that it is sure
  const groupShares = denied ? groups.map(noShare) : percents(groups.map(({ probability }) => probability));
  const classShares = denied ? classes.map(noShare) : numberTexts(classes);
  const one = choosesOne(app.source);
  const lists = el(
    "div",
    { class: "vv-answers" },
    groups.length === 0
      ? null
      : list(
          t("groupsTitle"),
          groups.map((group, at) =>
            bar(
              {
                label: groupName(group.name, app),
                share: group.probability,
                text: groupShares[at],
                note: "",
                title: t("groupSize", { count: group.classes.length }),
              },
              at,
            ),
          ),
        ),
    list(
      t(one ? "classesTitle" : "outputs_" + model.outputs),
      classes.map((entry, at) =>
        bar(
          {
            label: labelName(entry.label, app),
            share: entry.probability,
            text: classShares[at],
            title: t("classNumber", { index: entry.index }) + ": " + entry.label,
            note: entry.probability === null ? "" : t("logit", { logit: signed(entry.logit).trim() }),
          },
          at,
        ),
      ),
      restOf(classes),
    ),
  );
  const lens = createLens(app);
  const found = el("p", { class: "vv-found" });
  const root = el(
    "div",
    {},
    found,
    lists,
    one ? null : el("p", { class: "vv-note", text: t("outputsNote_" + model.outputs) }),
    model.trained === false || denied || model.outputs === "value"
      ? null
      : el("p", { class: "vv-note", text: t(model.calibrated ? "calibrated" : "uncalibrated") }),
    createKnown(app),
    lens.root,
    caution(t),
  );
  return {
    root,
    render() {
      lens.render();
      setText(found, predictionsFinding(app, app.source.lens.here));
    },
  };

  function noShare() {
    return t("noShare");
  }

  function restOf(entries) {
    if (!one || denied || entries.length === manifest.model.num_classes) return null;
    const rest = 1 - entries.reduce((sum, { probability }) => sum + probability, 0);
    return el("p", { class: "vv-note", text: t("restOfClasses", { share: percent(Math.max(0, rest)) }) });
  }
}

function list(title, bars, rest = null) {
  return el("div", {}, el("h4", { text: title }), el("ol", { class: "vv-predictions" }, ...bars), rest);
}

/** A row of a list of bars. `share`: null of a value, which gets no bar. */
export function bar({ label, share, text, title, note }, at) {
  const fill = el("span", { class: "vv-fill" });
  fill.style.width = 100 * (share ?? 0) + "%";
  return el(
    "li",
    { class: [at === 0 && "vv-best", share === null && "vv-barless"].filter(Boolean).join(" ") || null },
    el("span", { class: "vv-label", text: label, title }),
    el("b", { text, title: share !== null && /\d/.test(text) ? percent(share) : null }),
    share === null ? null : el("span", { class: "vv-track", "aria-hidden": "true" }, fill),
    el("span", { class: "vv-logit", text: note }),
  );
}

/** Saves the most probable classes, and their probabilities after each block. */
function saves({ source: { manifest } }) {
  const { predictions, lens } = manifest.pass;
  if (predictions.length === 0) return { tables: {}, figures: [] };
  const rows = predictions.map(({ index, label, probability, logit }, at) => [
    at + 1,
    index,
    label,
    probability ?? "",
    logit,
  ]);
  const tables = { predictions: { columns: ["rank", "class", "label", "probability", "logit"], rows } };
  if (lens.length === 0) return { tables, figures: ["predictions"] };
  const followed = lens.flatMap(({ index, label, probabilities, ranks }) =>
    probabilities.map((probability, layer) => [layer, index, label, probability, ranks[layer]]),
  );
  return {
    figures: ["predictions", "lens"],
    tables: {
      ...tables,
      lens: { columns: ["layer", "class", "label", "probability", "rank"], rows: followed },
    },
  };
}

/**
 * The score of the picture beside the threshold, and how good the threshold is; null if the model was not
 * trained to tell its classes from others.
 */
function createKnown(app) {
  const texts = knownTexts(app);
  if (!texts) return null;
  return el(
    "section",
    { class: "vv-known" },
    el("h4", { text: app.t("knownTitle") }),
    el("p", { text: texts.verdict }),
    el("p", { class: "vv-note", text: texts.about.join(" ") }),
  );
}
