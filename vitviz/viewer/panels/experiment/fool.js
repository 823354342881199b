/** Fool it: a change of the pixels that turns the answer, noise of the same size, and where it takes over. */

import { pixelCanvas } from "../../parts/canvas.js";
import { el, freshId, setText, show } from "../../parts/dom.js";
import { download } from "../../parts/download.js";
import { createLineChart } from "../../parts/linechart.js";
import { allow, button } from "../../parts/widgets.js";
import { toRgba } from "../../maths/colour.js";
import { choosesOne } from "../../maths/outputs.js";
import { resized } from "../../maths/resampling.js";
import { lensOfBoth, takeOver } from "../../maths/takeover.js";
import { ITSELF, OPERATED, withOne } from "../../state/experiment.js";
import { className } from "../../text/explaining.js";
import { reasonOf } from "../../text/refusal.js";
import { groupName } from "../../text/words.js";
import { LIMITS } from "../../engine/tables.js";
import { chooseClass, classOptions } from "./classoptions.js";
import { restingSlider } from "./restingslider.js";

const [STEPS, TIMES] = [8, 16];
const LARGER = 3; // times the size that the model sees, of the larger file
const PARTS = ["patches", "cls"];
const bestOf = ({ predictions }) => predictions[0].index;

/**
 * The controls and what they show; null for a model whose classes do not exclude each other.
 * @param {import("../../main.js").App} app
 */
export function createFoolControls(app) {
  const { t, bench, source } = app;
  const { model, pass } = source.manifest;
  if (!choosesOne(source) || pass.predictions.length < 2) return null;
  const { height, width, channels } = model.image;
  const before = bestOf(pass);
  const perturbed = () => bench.list().find(({ kind }) => kind === "perturb");
  let target = /** @type {number|"away"} */ ("away");
  const id = freshId("fool");
  const menu = el(
    "select",
    {
      id,
      class: "vv-select",
      onchange() {
        target = menu.value === "away" ? "away" : Number(menu.value);
        if (perturbed()) put(level.take() ?? perturbed().epsilon);
      },
    },
    el("option", { value: "away", text: t("experimentFoolAway") }),
    ...classOptions(app, 1),
  );
  const level = restingSlider({
    label: t("experimentFoolLevels"),
    min: 0,
    max: LIMITS.levels,
    step: 1,
    format: (epsilon) => t("experimentFoolLevel", { epsilon }),
    onRest: put,
  });
  const pictures = ["before", "change", "after"].map((name) => ({
    ...pixelCanvas(height, width, "vv-fool-picture"),
    name: t("experimentFool_" + name, { times: TIMES }),
  }));
  const said = el("p", { class: "vv-reading", role: "status" });
  const noise = el("p", { class: "vv-note" });
  const keep = (canvas, name) => canvas.toBlob((blob) => blob && download(blob, name));
  const save = button({
    text: t("experimentFoolSave"),
    onClick: () => keep(pictures[2].canvas, "fooled.png"),
  });
  const [wide, high] = [LARGER * width, LARGER * height];
  const saveLarger = button({
    text: t("experimentFoolSaveLarger", { width: wide, height: high }),
    onClick() {
      const larger = pixelCanvas(high, wide, "");
      const { data } = resized({ data: drawn, width, height, channels }, wide, high, "bicubic");
      larger.draw(toRgba(Uint8Array.from(data), channels));
      keep(larger.canvas, "fooled-larger.png");
    },
  });
  const curve = createCurve(app, before);
  const result = el(
    "div",
    { class: "vv-sections" },
    el(
      "div",
      { class: "vv-fool" },
      ...pictures.map(({ canvas, name }) =>
        el("figure", { class: "vv-figure" }, el("figcaption", { text: name }), canvas),
      ),
    ),
    said,
    noise,
    el("div", { class: "vv-pair" }, save, saveLarger),
    el("p", { class: "vv-note", text: t("experimentFoolResizing") }),
    curve.root,
  );
  const root = el(
    "div",
    { class: "vv-sections" },
    el("p", { class: "vv-note", text: t("experimentFoolHint") }),
    el("div", { class: "vv-pair" }, el("label", { for: id, text: t("experimentFoolTarget") }), menu),
    level.root,
    result,
  );
  let drawn = null;
  return { root, render };

  function put(epsilon) {
    const list = bench.list();
    const change = { kind: "perturb", target, epsilon, steps: STEPS, seed: 0 };
    bench.change(epsilon === 0 ? list.filter(({ kind }) => kind !== "perturb") : withOne(list, change));
  }

  function render() {
    const change = perturbed();
    if (change && change.target !== "random") ({ target } = change);
    chooseClass(menu, String(target), () => className(Number(target), app));
    level.set(change?.epsilon ?? 0);
    const { key, app: other, coming } = app.second;
    const here = change && bench.list().length === 1 && key === OPERATED && other;
    if (here && coming) return; // the last answer stays until the next is here
    const sides = here ? [source, other.source].map(({ picture }) => picture.get()?.pixels) : [];
    show(result, Boolean(sides[0] && sides[1]));
    if (!sides[0] || !sides[1]) return;
    if (drawn === sides[1]) {
      curve.render();
      return;
    }
    drawn = sides[1];
    const moved = sides[1].map((value, i) => Math.abs(value - sides[0][i]));
    const change16 = Uint8Array.from(drawn, (value, i) =>
      Math.min(Math.max(128 + TIMES * (value - sides[0][i]), 0), 255),
    );
    [sides[0], change16, drawn].forEach((one, at) => pictures[at].draw(toRgba(one, channels)));
    const after = bestOf(other.source.manifest.pass);
    const values = { before: className(before, app), after: className(after, app) };
    const most = moved.reduce((all, one) => Math.max(all, one), 0);
    const turned = t(after === before ? "experimentFoolStill" : "experimentFoolTurned", { ...values, most });
    const group =
      after !== before && model.groups?.[after] === model.groups?.[before] && model.groups?.[after];
    setText(said, turned + (group ? " " + t("experimentFoolGroup", { group: groupName(group, app) }) : ""));
    curve.of(change, after !== before && change.target !== "random" ? other.source : null);
    compare(change);
  }

  /** Says what random signs of the same size do. */
  async function compare(change) {
    setText(noise, "");
    if (change.target === "random") return;
    const text = await app.comparisons.results([{ ...change, target: "random" }], source).then(
      (found) => {
        const key = bestOf(found) === before ? "experimentFoolNoise" : "experimentFoolNoiseTurned";
        return t(key, { name: className(bestOf(found), app), epsilon: change.epsilon });
      },
      (error) => t("fairFailed", { reason: reasonOf(error, app.language) }),
    );
    const [now] = bench.list();
    if (now?.kind === "perturb" && now.epsilon === change.epsilon) setText(noise, text);
  }
}

/**
 * The curve of where the change takes over: a pass for each block, with clean tokens put back before it; and
 * what the logit lens reads from the clean and the changed picture.
 */
function createCurve(app, answer) {
  const { t, source } = app;
  const { depth, prefix_tokens: prefix, grid } = source.manifest.model;
  const patches = Array.from({ length: grid.rows * grid.cols }, (_, patch) => patch);
  const chartOf = (label, axis) =>
    createLineChart({
      label,
      axis,
      columns: Array.from({ length: depth }, (_, layer) => String(layer)),
      height: 10,
      onChoose: (layer) => app.select({ layer }),
    });
  const chart = chartOf(t("experimentFoolWhere"), t("experimentFoolAxis"));
  const lens = {
    chart: chartOf(t("experimentFoolLens"), t("lensAxis")),
    said: el("p", { class: "vv-reading" }),
  };
  const said = el("p", { class: "vv-reading", role: "status" });
  const ask = button({ text: t("experimentFoolWhere"), onClick: () => measure(change) });
  const intro = el("p", {
    class: "vv-note",
    text: t("experimentFoolCurve", { name: className(answer, app) }),
  });
  const found = el(
    "div",
    { class: "vv-fool-curves" },
    el("div", {}, intro, chart.root),
    el("div", {}, el("p", { class: "vv-note", text: t("experimentFoolLens") }), lens.chart.root),
  );
  const root = el(
    "div",
    { class: "vv-sections" },
    el("div", { class: "vv-pair" }, ask),
    found,
    said,
    lens.said,
  );
  let [change, changed] = [null, null];
  let charts = /** @type {(() => void)[]} */ ([]); // draws each with the layer that is selected
  return {
    root,
    render: () => charts.forEach((drawn) => drawn()),
    /**
     * `turned`: the changed picture, null if its answer has not turned. Nothing is learned without CLS: clean
     * patches are then all tokens, or nearly all.
     */
    of(next, turned) {
      [change, changed, charts] = [next, turned, []];
      const asks = turned && prefix[0] === "cls_token";
      const offer = () =>
        change === next && show(root, asks && app.backend.model(source.manifest.model)?.state === "here");
      offer();
      // After a link the host has made the change, and the model is not here yet.
      if (asks) app.backend.prepare(source.manifest.model)?.ready.then(offer);
      show(found, false);
      [said, lens.said].forEach((one) => setText(one, ""));
    },
  };

  async function measure(of) {
    const isOld = () => of !== change;
    if (ask.getAttribute("aria-busy") === "true") return;
    ask.setAttribute("aria-busy", "true");
    allow(ask, false);
    const rows = { patches: [], cls: [] };
    try {
      for (const part of PARTS)
        for (let layer = 0; layer < depth && !isOld(); layer++) {
          const clean = { kind: "transplant", patches: part === "cls" ? part : patches, layer, from: ITSELF };
          rows[part].push(await app.comparisons.results([of, clean], source));
        }
      await Promise.all([source, changed].map((one) => one.lens.exists && one.lens.fetch()));
    } catch (error) {
      if (!isOld()) setText(said, t("fairFailed", { reason: reasonOf(error, app.language) }));
      return;
    } finally {
      ask.removeAttribute("aria-busy");
      allow(ask, true);
    }
    if (isOld()) return;
    const lines = PARTS.map((part) => ({
      name: t("experimentFoolClean_" + part),
      title: t("experimentFoolClean_" + part),
      values: rows[part].map(({ probabilities }) => probabilities[answer]),
    }));
    const returns = (part) => rows[part].map((one) => bestOf(one) === answer);
    const { key, values } = takeOver(returns("patches"), returns("cls"));
    setText(said, t(key, { ...values, name: className(answer, app) }));
    charts = []; // it can be measured again
    draw(chart, lines, said);
    readLens();
    show(found, true);
  }

  function draw(to, lines, { textContent: reading }) {
    const ticks = [0, 0.5, 1].map((value) => ({ value, text: 100 * value + "%" }));
    const scale = { min: 0, max: 1 };
    const drawn = () => to.render({ lines, scale, marked: app.selection.layer, reading, ticks });
    charts.push(drawn);
    drawn();
  }

  function readLens() {
    const after = bestOf(changed.manifest.pass);
    const both = lensOfBoth(source.lens.here, changed.lens.here, answer, after);
    show(/** @type {HTMLElement} */ (lens.chart.root.parentElement), both !== null);
    if (!both) return;
    const names = { before: className(answer, app), after: className(after, app) };
    const lines = Object.entries(both.lines).map(([which, { probabilities }]) => {
      const name = t("experimentFoolLens_" + which, names);
      return { name, title: name, values: probabilities };
    });
    setText(lens.said, t("experimentFoolLensFound", { ...names, ...both.values }));
    draw(lens.chart, lines, lens.said);
  }
}
