/** Panel Experiment: change the picture or the model, and see the answer before and after. */

import { createAnswerBars } from "../parts/answerbars.js";
import { caution } from "../parts/caution.js";
import { el, freshId, setText, show } from "../parts/dom.js";
import { createFoolControls } from "./experiment/fool.js";
import { createHeadTable } from "./experiment/headtable.js";
import { createSteerControls } from "./experiment/steer.js";
import { createPhotoChoice } from "../parts/photochoice.js";
import { allow, button, choice, slider, toggle } from "../parts/widgets.js";
import { TOOLS, cellsOf, edgesOf } from "../state/bench.js";
import { OPERATED, partsTouched, read, takesTokens } from "../state/experiment.js";
import { letterOf } from "../state/keys.js";
import { answerOf } from "../text/answer.js";
import { codeOf } from "../text/python.js";
import { whereComputed } from "../text/where.js";
import { besideName, changeName, headName, tokenName } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const experiment = {
  id: "experiment",
  group: "try",
  whole: true,
  alone: true,
  paints: true,
  controls: ["head", "direction"],
  create,
  saves,
  code,
  lights: ({ bench, source: { manifest } }) => partsTouched(bench.list(), manifest.model.depth),
};

/** The probabilities that stand in the bars of the changed model. */
function code(selection, { manifest }, _taste, done = null) {
  const changes = done ?? read(selection.experiment) ?? [];
  const count = manifest.pass.predictions.length;
  // Only the pass knows the name of the photo whose tokens were put in.
  if (changes.length === 0 || count === 0 || (!done && takesTokens(changes))) return null;
  return { ...codeOf(manifest, "predictions", { count }, changes), torch: null };
}

/** @param {import("../main.js").App} app */
function create(app) {
  const { t, bench } = app;
  if (!app.backend.changes)
    return { root: el("div", {}, el("p", { class: "vv-text", text: t("experimentNoHost") })), render() {} };
  const answers = createAnswers(app);
  const log = createLog(app);
  const brush = createBrushControls(app);
  const picture = createPictureControls(app);
  const fool = createFoolControls(app);
  const model = createModelControls(app);
  const edges = createEdgeControls(app);
  const transplant = createTransplantControls(app);
  const steer = createSteerControls(app);
  const intro = el("p", { class: "vv-intro", text: t("experimentIntro") });
  const root = el(
    "div",
    { class: "vv-experiment", onkeydown: onKey },
    intro,
    brush.root,
    log.root,
    fool ? section("experimentFool", fool.root) : null,
    section("experimentPicture", picture.root),
    section("experimentModel", model.root),
    section("experimentEdges", edges.root),
    steer ? section("experimentSteer", steer.root) : null,
    transplant ? section("experimentTransplant", transplant.root) : null,
    answers.root,
    caution(t),
  );
  return {
    root,
    render() {
      bench.follow();
      for (const part of [answers, log, brush, picture, fool, model, edges, steer, transplant])
        part?.render();
    },
  };

  function section(key, body) {
    return el("details", { class: "vv-facts" }, el("summary", { text: t(key) }), body);
  }

  /**
   * Undo and redo of the experiment, while the focus is in here; elsewhere the keys are those of the page.
   */
  function onKey(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const letter = letterOf(event);
    const redo = letter === "y" || (letter === "z" && event.shiftKey);
    if (!redo && letter !== "z") return;
    event.preventDefault();
    event.stopPropagation();
    if (redo) bench.redo();
    else bench.undo();
  }
}

/** Before and after: the answers in a sentence, which screen readers announce, and as bars. */
function createAnswers(app) {
  const { t } = app;
  const sentence = el("p", { class: "vv-before-after", role: "status" });
  const bars = el("div");
  const where = el("p", { class: "vv-note vv-computed" });
  const root = el("div", {}, sentence, bars, where);
  let drawn = null;
  return {
    root,
    render() {
      const { second, bench } = app;
      const other = second.key === OPERATED ? second.app : null;
      const [before, after] = [app, other].map((side) => side && answerOf(side)?.line);
      setText(
        sentence,
        bench.said
          ? t(bench.said)
          : second.key !== OPERATED
            ? ""
            : second.error
              ? t("experimentFailed")
              : !other || second.coming
                ? t("experimentComing")
                : before
                  ? t("experimentAnswers", { before, after })
                  : t("experimentNoAnswers"),
      );
      show(sentence, sentence.textContent !== "");
      setText(where, other ? whereComputed(other, app) : "");
      if (drawn === (other?.source ?? null)) return;
      drawn = other?.source ?? null;
      bars.replaceChildren(...(other ? [createAnswerBars(app, other).root] : []));
    },
  };
}

/** The list of the interventions, with a button to remove each. */
function createLog(app) {
  const { t, bench } = app;
  const id = freshId("done");
  const undo = button({
    text: t("experimentUndo"),
    title: t("experimentUndoTitle"),
    onClick: () => bench.undo(),
  });
  const redo = button({
    text: t("experimentRedo"),
    title: t("experimentRedoTitle"),
    onClick: () => bench.redo(),
  });
  const clear = button({
    text: t("experimentClear"),
    onClick: () => {
      bench.clear();
      undo.focus();
    },
  });
  const again = button({ text: t("experimentShow"), onClick: () => app.select({ beside: OPERATED }) });
  const none = el("p", { class: "vv-note", text: t("experimentNothing") });
  const list = el("ol", { class: "vv-done", "aria-labelledby": id });
  const root = el(
    "section",
    {},
    el("h4", { id, text: t("experimentDone") }),
    el("div", { class: "vv-done-row" }, none, list),
    el("div", { class: "vv-pair" }, undo, redo, clear, again),
  );
  let drawn = null;
  return {
    root,
    render() {
      const { experiment: text, beside } = app.selection;
      allow(undo, bench.canUndo());
      allow(redo, bench.canRedo());
      allow(clear, text !== "");
      show(again, text !== "" && beside !== OPERATED);
      if (text === drawn) return;
      drawn = text;
      const all = bench.list();
      show(none, all.length === 0);
      show(list, all.length > 0);
      const held = [...list.children].findIndex((item) => item.contains(document.activeElement));
      list.replaceChildren(
        ...all.map((change, at) => {
          const name = changeName(change, app);
          return el(
            "li",
            {},
            el("span", { text: name }),
            el("button", {
              type: "button",
              class: "vv-button",
              text: "✕",
              title: t("experimentDrop"),
              "aria-label": t("experimentDrop") + ": " + name,
              onclick: () => bench.drop(at),
            }),
          );
        }),
      );
      // The entry that had the focus may be gone: the next one has it then, or undo.
      if (held < 0) return;
      const next = list.querySelectorAll("button")[Math.min(held, all.length - 1)] ?? undo;
      next.focus({ preventScroll: true });
    },
  };
}

function createBrushControls(app) {
  const { t, bench, source } = app;
  const { grid } = source;
  const patches = grid.rows * grid.cols;
  const tool = choice({
    label: t("experimentTool"),
    wrap: true,
    onChoose: (value) => bench.use({ tool: value }),
    options: TOOLS.map((value) => ({
      value,
      text: t("experimentTool_" + value),
      title: t("experimentToolTitle_" + value),
    })),
  });
  const size = choice({
    label: t("experimentSize"),
    onChoose: (value) => bench.use({ size: value }),
    options: [1, 3, 5]
      .filter((side) => side === 1 || side < Math.min(grid.rows, grid.cols))
      .map((side) => ({ value: side, text: side + " × " + side })),
  });
  const on = toggle({ label: t("experimentBrushOn"), onSwitch: (value) => bench.use({ on: value }) });
  const hint = el("p", { class: "vv-note" });
  let count = Math.max(1, Math.round(patches / 4));
  let seed = 0;
  const many = slider({
    label: t("experimentCount"),
    min: 1,
    max: Math.max(1, patches - 1),
    step: 1,
    format: String,
    onInput: (value) => {
      count = value;
      many.set(value);
    },
  });
  const strongest = button({
    text: t("experimentStrongest"),
    title: t("experimentStrongestTitle"),
    onClick: hideStrongest,
  });
  const random = button({
    text: t("experimentRandom"),
    title: t("experimentRandomTitle"),
    onClick: () => bench.hideRandom(count, seed++),
  });
  const whose = el("p", { class: "vv-note" });
  const root = el(
    "section",
    { class: "vv-brush-controls" },
    el("h4", { text: t("experimentBrush") }),
    tool.root,
    el("div", { class: "vv-knobs" }, size.root, on.root),
    hint,
    el(
      "div",
      { class: "vv-knobs" },
      many.root,
      el("div", { class: "vv-pair vv-on-a-line" }, strongest, random),
    ),
    whose,
  );
  return {
    root,
    render() {
      tool.set(bench.tool);
      size.set(bench.size, bench.tool !== "swap");
      on.set(bench.on);
      many.set(count);
      for (const hides of [strongest, random]) allow(hides, patches > 1);
      setText(hint, t(bench.tool === "swap" ? "experimentHintSwap" : "experimentHint"));
      const { layer, head, direction } = app.selection;
      setText(
        whose,
        t("experimentWhose_" + direction, {
          name: tokenName(app.pointer.shownToken(), app),
          layer,
          head: headName(head, app),
        }),
      );
    },
  };

  /** Takes out the most attended patches, as soon as their layer has loaded. */
  async function hideStrongest() {
    if (strongest.getAttribute("aria-busy") === "true") return;
    const { layer, head, direction } = app.selection;
    const token = app.pointer.shownToken();
    const mapOf = () => source.maps.head(layer, token, direction, head);
    if (!mapOf()) {
      strongest.setAttribute("aria-busy", "true");
      // `want` asks again, and tells the visitor why the layer does not come.
      await source.store.ensure(layer).catch(() => source.store.want(() => bench.use({})));
      strongest.setAttribute("aria-busy", "false");
    }
    const map = mapOf();
    if (map && source === app.source) bench.hideStrongest(map, count);
  }
}

function createPictureControls(app) {
  const {
    t,
    bench,
    source: { grid, manifest },
  } = app;
  const seeds = { shuffle: 0, positions: 0 };
  const cells = cellsOf(grid).map((side) =>
    button({
      text: side + " × " + side,
      title: t("experimentShuffleTitle", { side }),
      onClick: () => bench.add({ kind: "shuffle", cells: side, seed: seeds.shuffle++ }),
    }),
  );
  const kinds = manifest.model.position_kinds;
  const ways = [
    "off",
    "shuffled",
    ...(kinds.length > 1 ? kinds.filter((kind) => kind !== "bias").map((kind) => kind + " off") : []),
  ];
  const positions = ways.map((by) =>
    button({
      text: t("experimentPositions_" + by.replace(" ", "_")),
      title: t("experimentPositionsTitle_" + by.replace(" ", "_")),
      onClick: () => bench.add({ kind: "positions", by, seed: by === "shuffled" ? seeds.positions++ : 0 }),
    }),
  );
  const root = el(
    "div",
    { class: "vv-sections" },
    group(app, "experimentShuffle", ...cells),
    kinds.length > 0
      ? group(app, "experimentPositions", ...positions)
      : el("p", { class: "vv-note", text: t("missing_noPositions") }),
  );
  return { root, render() {} };
}

/** Controls after the name of their purpose. */
function group({ t }, key, ...nodes) {
  const name = t(key);
  return el(
    "div",
    { class: "vv-pair", role: "group", "aria-label": name },
    el("span", { text: name }),
    ...nodes,
  );
}

function createModelControls(app) {
  const { t } = app;
  /** @type {"zero"|"mean"} */
  let by = "zero";
  const how = choice({
    label: t("experimentHeadBy"),
    onChoose: (value) => {
      by = value;
      how.set(by);
    },
    options: ["zero", "mean"].map((value) => ({ value, text: t("experimentHeadBy_" + value) })),
  });
  how.set(by);
  const table = createHeadTable(app, () => by);
  return {
    root: el(
      "div",
      { class: "vv-sections" },
      el("p", { class: "vv-note", text: t("experimentModelHint") }),
      how.root,
      table.root,
    ),
    render: table.render,
  };
}

function createEdgeControls(app) {
  const {
    t,
    bench,
    source: { grid, manifest },
  } = app;
  let where = "all";
  const layers = choice({
    label: t("experimentWhere"),
    onChoose: (value) => {
      where = value;
      render();
    },
    options: ["all", "layer", "head"].map((value) => ({ value, text: t("experimentWhere_" + value) })),
  });
  const place = el("p", { class: "vv-note" });
  const inLayers = () => (where === "all" ? "all" : [app.selection.layer]);
  const inHeads = () => (where === "head" && app.selection.head !== "mean" ? [app.selection.head] : "all");
  const cut = edgesOf(grid).map((edges) =>
    button({
      text: t("experimentCut_" + edges.replaceAll(" ", "_")),
      title: t("experimentCutTitle"),
      onClick: () => bench.add({ kind: "cut", edges, layers: inLayers(), heads: inHeads() }),
    }),
  );
  const cutPair = button({
    text: t("experimentCutPair"),
    title: t("experimentCutTitle"),
    onClick: () => {
      const { query, key } = app.pointer.pair();
      bench.add({ kind: "cut", edges: [[query, key]], layers: inLayers(), heads: inHeads() });
    },
  });
  const pair = el("p", { class: "vv-note" });
  const rows = ["cls", "patches", "all"].filter(
    (name) => name !== "cls" || manifest.model.prefix_tokens[0] === "cls_token",
  );
  const even = rows.map((name) =>
    button({
      text: t("experimentEven_" + name),
      title: t("experimentEvenTitle"),
      onClick: () => bench.add({ kind: "even", rows: name, layers: inLayers() }),
    }),
  );
  let seed = 0;
  const scramble = button({
    text: t("experimentScramble"),
    title: t("experimentScrambleTitle"),
    onClick: () => bench.add({ kind: "scramble", rows: "patches", layers: inLayers(), seed: seed++ }),
  });
  const root = el(
    "div",
    { class: "vv-sections" },
    layers.root,
    place,
    group(app, "experimentCut", ...cut, cutPair),
    pair,
    group(app, "experimentEven", ...even),
    group(app, "experimentRows", scramble),
  );
  return { root, render };

  function render() {
    layers.set(where);
    const { layer, head } = app.selection;
    const phrase =
      where === "layer"
        ? "experimentPlaceLayer"
        : head === "mean"
          ? "experimentPlaceMean"
          : "experimentPlaceHead";
    setText(place, where === "all" ? "" : t(phrase, { layer, head: headName(head, app) }));
    show(place, where !== "all");
    const { query, key } = app.pointer.pair();
    setText(pair, t("experimentPair", { query: tokenName(query, app), key: tokenName(key, app) }));
  }
}

/**
 * Tokens of another picture, in the same model, put in before a block or before the head; null where there is
 * no other picture and the host takes none.
 */
function createTransplantControls(app) {
  const {
    t,
    bench,
    source: { manifest },
  } = app;
  const donors = () => app.comparisons.besides().filter(({ kind }) => kind === "photo" || kind === "example");
  const photo = createPhotoChoice(app, (key) => {
    donor.value = key;
  });
  if (donors().length === 0 && !photo) return null;
  const id = freshId("donor");
  const donor = el("select", { id, class: "vv-select" });
  const { depth } = manifest.model;
  let before = Math.floor(depth / 2);
  const place = slider({
    label: t("experimentBefore"),
    min: 0,
    max: depth,
    step: 1,
    format: (value) => (value === depth ? t("experimentBeforeHead") : String(value)),
    onInput: (value) => {
      before = value;
      place.set(value);
    },
  });
  const which = ["cls", "all"].filter(
    (patches) => patches === "all" || manifest.model.prefix_tokens[0] === "cls_token",
  );
  const buttons = which.map((patches) =>
    button({
      text: t("experimentTransplant_" + patches),
      title: t("experimentTransplantTitle"),
      onClick: () => bench.add({ kind: "transplant", patches, layer: before, from: donor.value }),
    }),
  );
  const root = el(
    "div",
    { class: "vv-sections" },
    el("p", { class: "vv-note", text: t("experimentTransplantHint") }),
    el("div", { class: "vv-pair" }, el("label", { for: id, text: t("experimentDonor") }), donor, photo?.root),
    photo?.note,
    place.root,
    el("div", { class: "vv-pair", role: "group", "aria-label": t("experimentTransplantTitle") }, ...buttons),
  );
  photo?.takesDrops(root);
  let written = "";
  return {
    root,
    render() {
      place.set(before);
      const all = donors();
      for (const each of buttons) allow(each, all.length > 0);
      const keys = all.map(({ key }) => key).join("/");
      if (written === keys) return;
      written = keys;
      const { value } = donor;
      donor.replaceChildren(
        ...all.map((beside) => el("option", { value: beside.key, text: besideName(beside, app) })),
      );
      if (all.some(({ key }) => key === value)) donor.value = value;
    },
  };
}

/** Saves the probabilities before and after, and the list of what was done. */
function saves(app) {
  const { second } = app;
  const done = read(app.selection.experiment) ?? [];
  if (second.key !== OPERATED || !second.app || second.coming || done.length === 0)
    return { tables: {}, figures: [] };
  const [before, after] = [app, second.app].map(({ source }) => source.manifest.pass);
  const names = new Map([...before.predictions, ...after.predictions].map((row) => [row.index, row.label]));
  const of = ({ predictions, probabilities }, index) => {
    const found = predictions.find((row) => row.index === index);
    return found?.probability ?? probabilities?.[index] ?? found?.logit ?? "";
  };
  const changes = {
    columns: ["number", "change", "intervention"],
    rows: done.map((change, at) => [at + 1, changeName(change, app), JSON.stringify(change)]),
  };
  const all = done.map((change) => changeName(change, app)).join("; ");
  const answers = {
    columns: ["class", "label", "before", "after", "changed"],
    rows: [...names].map(([index, label]) => [index, label, of(before, index), of(after, index), all]),
  };
  return names.size > 0
    ? { tables: { answers, changes }, figures: ["answers"] }
    : { tables: { changes }, figures: [] };
}
