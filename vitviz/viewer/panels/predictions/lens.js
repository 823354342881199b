/** The logit lens: a line for each class over the layers, of its probability or its rank. */

import { el, show } from "../../parts/dom.js";
import { refuses } from "../../text/answer.js";
import { labelName } from "../../text/words.js";
import { createLineChart, createReading } from "../../parts/linechart.js";
import { rankTicks, topShare } from "../../maths/lines.js";
import { percent } from "../../maths/numbers.js";
import { cited } from "../../parts/cited.js";
import { createFileView } from "../../parts/waiting.js";
import { choice } from "../../parts/widgets.js";

/** The quantities that the logit lens can show. */
export const LENSES = ["probability", "rank"];

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createLens(app) {
  const root = el("div", { class: "vv-lens" }, el("h4", { text: app.t("lens") }));
  return createFileView(
    app,
    root,
    () => app.source.lens,
    "lensLoading",
    (found) => createView(app, found),
    { none: app.source.manifest.model.outputs === "value" ? "lensValue" : "lensNone" },
  );
}

/** @param {import("../../main.js").App} app @param {import("../../types.js").LensLine[]} lines */
function createView(app, lines) {
  const { t } = app;
  const { depth, num_classes: classes, pool } = app.source.manifest.model;
  const lens = lines.map((line) => ({ ...line, label: labelName(line.label, app) }));
  const denied = refuses(app.source); // then no shares: the model has just refused these classes
  const alone = classes === 1; // then no ranks: a single class always has rank 1
  const scale = choice({
    label: t("lensScale"),
    options: LENSES.map((value) => ({ value, text: t("lens_" + value) })),
    onChoose: (value) => app.prefer({ lens: value }),
  });
  const chart = createLineChart({
    label: t("lensChart"),
    axis: t("lensAxis"),
    columns: Array.from({ length: depth }, (_, layer) => String(layer)),
    onChoose: (layer) => app.select({ layer }),
  });
  const reading = createReading();
  const top = topShare(lens.map((line) => line.probabilities));
  const charts = {
    probability: {
      scale: { min: 0, max: top },
      lines: linesOf("probabilities"),
      ticks: [0, 0.25, 0.5, 0.75, 1].map((part) => ({
        value: part * top,
        text: Number((100 * part * top).toFixed(2)) + "%",
      })),
    },
    rank: {
      scale: { min: classes, max: 1, log: true },
      lines: linesOf("ranks"),
      ticks: rankTicks(classes).map((value) => ({ value, text: String(value) })),
    },
  };
  const root = el(
    "div",
    {},
    el("p", { class: "vv-intro", text: t("lensIntro_" + pool) }),
    scale.root,
    chart.root,
    reading.root,
    cited(t("lensCaution"), "arXiv:2310.18969"),
  );
  return { root, render };

  function render() {
    const { layer } = app.selection;
    const text = lensSentence(lens, layer, t, denied);
    const shown = alone ? "probability" : denied ? "rank" : app.taste.lens;
    scale.set(app.taste.lens);
    show(scale.root, !denied && !alone);
    chart.render({ ...charts[shown], marked: layer, reading: text });
    reading.render(text);
  }

  function linesOf(field) {
    const titleOf = ({ label: name, probabilities: shares, ranks }) =>
      denied
        ? t("lensLineRanks", { name, first: ranks[0], last: ranks[depth - 1] })
        : t("lensLine", {
            name,
            first: percent(shares[0]),
            last: percent(shares[depth - 1]),
            rank: ranks[depth - 1],
          });
    return lens.map((line) => ({ name: line.label, values: line[field], title: titleOf(line) }));
  }
}

/**
 * A sentence: the top class after a block, and the rank and probability of the final answer there.
 * @param {{label: string, probabilities: number[], ranks: number[]}[]} lens  the answer first
 * @param {number} layer
 * @param {(key: string, values?: any) => string} t
 * @param {boolean} denied  whether the answer is refused: then no share is told
 * @returns {string}
 */
export function lensSentence(lens, layer, t, denied = false) {
  if (lens.length > 1 && lens.every(({ ranks }) => ranks[layer] === 1)) return t("lensEven", { layer });
  const first = lens.find(({ ranks }) => ranks[layer] === 1) ?? lens[0];
  const sentence = denied
    ? t("lensReadingBare", { layer, name: first.label })
    : t("lensReading", { layer, name: first.label, share: percent(first.probabilities[layer]) });
  if (first === lens[0]) return sentence;
  const [answer] = lens;
  const [name, rank] = [answer.label, answer.ranks[layer]];
  const second = denied
    ? t("lensAnswerBare", { name, rank })
    : t("lensAnswer", { name, rank, share: percent(answer.probabilities[layer]) });
  return sentence + " " + second;
}
