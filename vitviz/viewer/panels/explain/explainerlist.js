/** The list of all explainers of the host, to choose among, with the cost and the measurements of each. */

import { grouped } from "../../maths/numbers.js";
import { MOST_MAPS, questionOf, shownExplainers, toggled } from "../../state/explaining.js";
import { costText, explainerName, explainerSentence } from "../../text/explaining.js";
import { el, setText, show } from "../../parts/dom.js";
import { createFold } from "../../parts/fold.js";
import { arxiv } from "../../parts/cited.js";

const PAPER = /^arXiv:[0-9]{4}\.[0-9]{4,5}$/;

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createExplainerList(app) {
  const { t } = app;
  const { explanations } = app.source;
  const { tested } = app.source.manifest.model;
  const rows = explanations.listed.map((explainer) => createRow(app, explainer));
  const measured = explanations.all.some((explainer) => explainer.measured);
  const note =
    measured && tested
      ? t("explainTested", { pictures: grouped(tested.pictures), data: tested.data, date: tested.date })
      : t("explainUntested");
  const most = el("p", { class: "vv-note", role: "status" });
  const root = createFold(
    app,
    "explainers",
    "",
    el("ul", { class: "vv-explainers" }, ...rows.map((row) => row.root)),
    most,
    el("p", { class: "vv-note", text: note }),
  );
  const title = /** @type {HTMLElement} */ (root.querySelector("h4"));
  return {
    root,
    render() {
      const keys = shownExplainers(app.selection, app.source).map(({ key }) => key);
      const { all } = explanations;
      setText(title, t("explainAll", { count: all.length }));
      rows.forEach((row, at) => {
        const offered = all.includes(explanations.listed[at]);
        show(row.root, offered);
        if (offered) row.render(keys);
      });
      setText(most, keys.length >= MOST_MAPS ? t("explainMost", { most: MOST_MAPS }) : "");
    },
  };
}

/** @param {import("../../main.js").App} app @param {import("../../types.js").Explainer} explainer */
function createRow(app, explainer) {
  const { t } = app;
  const input = el("input", {
    type: "checkbox",
    onchange: () => {
      const keys = shownExplainers(app.selection, app.source).map(({ key }) => key);
      app.select(
        keys.includes(explainer.key)
          ? { maps: toggled(keys, explainer.key) }
          : { maps: toggled(keys, explainer.key), explainer: explainer.key, overlay: "explain" },
      );
    },
  });
  const cost = el("span", { class: "vv-explainer-cost" });
  const gain = el("span", { class: "vv-explainer-gain" });
  const root = el(
    "li",
    {},
    el(
      "div",
      { class: "vv-explainer-line" },
      el("label", { class: "vv-toggle" }, input, el("span", { text: explainerName(explainer, app) })),
      cost,
      gain,
    ),
    el(
      "p",
      { class: "vv-note" },
      explainerSentence(explainer, app) + " ",
      PAPER.test(explainer.paper) ? arxiv(explainer.paper) : null,
    ),
  );
  if (explainer.measured) gain.textContent = t("explainGain", gainOf(explainer.measured.gain));
  show(gain, Boolean(explainer.measured));
  return {
    root,
    render(keys) {
      const on = keys.includes(explainer.key);
      input.checked = on;
      // Without a host only the explanations in the page can be shown.
      input.disabled = on ? keys.length === 1 : keys.length >= MOST_MAPS || !fileOf().exists;
      setText(cost, costText(explainer, fileOf().here, t));
    },
  };

  function fileOf() {
    return app.source.explanations.of(questionOf(app.selection, app.source, explainer));
  }
}

function gainOf({ mean, half }) {
  return { gain: (mean < 0 ? "\u2212" : "+") + Math.abs(mean).toFixed(3), half: half.toFixed(3) };
}
