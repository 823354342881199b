/**
 * The fair test on the page: a button, progress, curves of removal with the band of random orders, and what
 * they say.
 */

import { LIKE } from "../../data/explanations.js";
import { questionOf, scoreOf, shownExplainers } from "../../state/explaining.js";
import { explainerName, fairSentence, fallingOf, timeText } from "../../text/explaining.js";
import { reasonOf } from "../../text/refusal.js";
import { el, setText, show } from "../../parts/dom.js";
import { byGain, quarterOf } from "../../maths/removal.js";
import { fairFinding } from "../../text/findings.js";
import { createRemovalChart } from "./removalchart.js";
import { createVanishing } from "./vanishing.js";
import { createTable } from "../../parts/table.js";
import { button, slider } from "../../parts/widgets.js";

const CENTRE = "centre"; // Python adds it to every test

/** The question: all maps side by side, for their token and class. */
function askedOf({ selection, source }) {
  const shown = shownExplainers(selection, source);
  const { token, target } = questionOf(selection, source, shown[0]);
  const { other } = source.explanations;
  return {
    explainers: shown.map(({ key }) => key),
    token,
    target,
    ...(target === LIKE && other ? { other: other.asked } : {}),
  };
}

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createFairTest(app) {
  const { t } = app;
  const { fairTest, explanations } = app.source;
  const run = button({ text: t("fairRun"), onClick: () => fairTest.run(askedOf(app)) });
  const stop = button({
    text: t("fairStop"),
    onClick: () => {
      fairTest.cancel();
      run.focus();
    },
  });
  const progress = el("progress", { max: "1", "aria-label": t("fairRunning") });
  const status = el("p", { class: "vv-note", role: "status" });
  const sentences = el("ul", { class: "vv-fair-sentences" });
  const charts = [
    ["first", "fairFirst"],
    ["last", "fairLast"],
  ].map(([curve, title]) => createRemovalChart(app, curve, t(title)));
  const pictures = /** @type {("first"|"last")[]} */ (["first", "last"]).map((curve) =>
    createVanishing(app, curve),
  );
  charts.forEach(({ root: figure }, at) => figure.prepend(pictures[at].root));
  const verdict = el("p", { class: "vv-found" });
  const knob = el("div");
  const body = el("tbody");
  const table = createTable(t, ["fairMap", "fairDeletion", "fairInsertion", "fairGain", "fairBeaten"], body);
  const about = el("p", { class: "vv-note" });
  const intro = el("p", { class: "vv-intro" });
  const found = el(
    "div",
    { class: "vv-fair-found" },
    verdict,
    knob,
    el("div", { class: "vv-figures" }, ...charts.map(({ root }) => root)),
    el("details", { class: "vv-facts" }, el("summary", { text: t("fairNumbers") }), sentences, table, about),
  );
  const root = el(
    "section",
    { class: "vv-card-part vv-fair" },
    el("h4", { text: t("fairTitle") }),
    intro,
    el("div", { class: "vv-pair vv-on-a-line" }, run, stop),
    progress,
    status,
    found,
  );
  let drawn = null;
  let shown = null; // {best, step, steps, text}: the map whose order the pictures show, how far, and numbers
  return { root, render };

  function render() {
    const request = askedOf(app);
    fairTest.follow(request);
    const falling = fallingOf(request.target, app);
    const possible = fairTest.isPossible(request);
    setText(intro, t("fairIntro", falling));
    const { running, error, waiting, share } = fairTest;
    const done = fairTest.of(request);
    show(run, possible && !running);
    show(stop, running !== "");
    show(progress, running !== "");
    if (waiting) progress.removeAttribute("value");
    else progress.value = share;
    const text = !possible
      ? t(whyNot(request))
      : running
        ? t(waiting ? "fairWaiting" : "fairRunning")
        : error
          ? t("fairFailed", { reason: reasonOf(error, app.language) })
          : "";
    setText(status, text);
    show(status, text !== "");
    show(found, done !== null);
    if (!done) return;
    if (drawn !== done) draw(done, request.explainers, falling);
    drawn = done;
    vanish(done.result);
  }

  function whyNot({ target }) {
    if (target !== LIKE && app.source.manifest.model.outputs === "value") return "fairValue";
    if (app.source.fairTest.patches < 2) return "fairFew";
    return target === null ? "fairNoClasses" : "fairNoHost";
  }

  /** Both pictures and both curves at one step. */
  function vanish(result) {
    const { best, step, steps } = shown;
    const values = explanations.of(questionOf(app.selection, app.source, best)).get()?.values;
    steps.set(step);
    for (const chart of charts) chart.mark(result.removed[step]);
    for (const picture of pictures) {
      show(picture.root, values !== undefined);
      if (values) picture.render(result, best, values, step, shown.text);
    }
  }

  function draw({ result, seconds }, keys, { score, measure, text }) {
    const names = [...keys.filter((key) => key !== CENTRE), CENTRE];
    const nameOf = (key) => {
      const explainer = explanations.named(key);
      return explainer ? explainerName(explainer, app) : key;
    };
    const lines = names.map((key, at) => ({ key, name: nameOf(key), series: key === CENTRE ? 5 : at }));
    for (const chart of charts) chart.draw(result, lines, score);
    setText(verdict, fairFinding(app, result, lines));
    const all =
      app.source.grid.tokens - app.source.grid.prefix - (app.source.manifest.pass.removed?.length ?? 0);
    const steps = slider({
      label: t("fairGone"),
      min: 0,
      max: result.removed.length - 1,
      step: 1,
      onInput: (step) => {
        shown.step = step;
        vanish(result);
      },
      format: (step) => t("fairStep", { gone: Math.round(result.removed[step] * all), all }),
    });
    const asked = lines.length > 1 ? lines.slice(0, -1) : lines; // the centre may be tested alone
    shown = { best: byGain(result, asked)[0], step: quarterOf(result.removed), steps, text };
    knob.replaceChildren(steps.root);
    sentences.replaceChildren(
      ...lines.map(({ key, name, series }) =>
        el("li", {
          class: "vv-fair-name vv-series-" + series,
          text: fairSentence(key, name, result, score, t),
        }),
      ),
    );
    body.replaceChildren(
      ...lines.map(({ key, name }) => {
        const { deletion, insertion, gain, beaten } = result.maps[key];
        return el(
          "tr",
          {},
          el("th", { scope: "row", text: name }),
          ...[deletion, insertion, gain].map((value) =>
            el("td", { class: "vv-shape", text: value.toFixed(3).replace("-", "\u2212") }),
          ),
          el("td", { class: "vv-shape", text: t("fairOf", { beaten, orders: result.orders }) }),
        );
      }),
    );
    setText(
      about,
      t("fairAbout", {
        orders: result.orders,
        measure,
        time: timeText(seconds, t),
      }),
    );
  }
}

/** The curves and the figures of the last test as tables; {} if it was of other maps. */
export function fairTables(app) {
  const request = askedOf(app);
  const result = app.source.fairTest.of(request)?.result;
  if (!result) return {};
  const { score, target } = scoreOf(request.target, app.source);
  const keys = Object.keys(result.maps);
  const curves = {
    removed: result.removed,
    random_05: result.band[0],
    random_95: result.band[1],
    ...Object.fromEntries(
      keys.flatMap((key) => [
        [key + "_first", result.maps[key].first],
        [key + "_last", result.maps[key].last],
      ]),
    ),
  };
  const names = Object.keys(curves);
  return {
    fair_test: {
      columns: ["map", "deletion", "insertion", "gain", "beaten", "orders", "score", "target"],
      rows: keys.map((key) => {
        const { deletion, insertion, gain, beaten } = result.maps[key];
        return [key, deletion, insertion, gain, beaten, result.orders, score, target];
      }),
    },
    fair_curves: {
      columns: [...names, "score", "target"],
      rows: result.removed.map((_, step) => [...names.map((name) => curves[name][step]), score, target]),
    },
  };
}
