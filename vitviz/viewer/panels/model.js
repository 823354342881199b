/** Panel Model: the facts about the model, as text and never as markup. */

import { el, setText } from "../parts/dom.js";
import { createFold } from "../parts/fold.js";
import { createTable } from "../parts/table.js";
import { digits, grouped, inGroups, percent, percents } from "../maths/numbers.js";
import { classesByGroup } from "../maths/predictions.js";
import { othersRows, photographsNote } from "../text/novelty.js";
import { explainerName } from "../text/explaining.js";
import { codeOf } from "../text/python.js";
import { groupName, hasText, labelName, translated } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const model = { id: "model", group: "try", whole: true, lights: () => [], create, saves, code };

/** Facts that are not in the list, because they stand elsewhere or are numbers for programs. */
const ELSEWHERE = [
  "title",
  "accuracy",
  "evaluation",
  "others",
  "certain",
  "explainers",
  "taught",
  "data",
  "terms",
  "groups",
  "recipe",
  "temperature",
  "license",
];

/** The number of parameters. */
function code(selection, { manifest }) {
  return codeOf(manifest, "model", {});
}

/** @param {import("../main.js").App} app */
function create(app) {
  const root = el("div", {}, summary(app), accuracy(app), tells(app), looks(app), knows(app), origin(app));
  return { root, render() {} };
}

function summary(app) {
  const { t } = app;
  const { manifest } = app.source;
  const { model } = manifest;
  const { image, grid, depth, num_heads: heads, embed_dim: dim } = model;
  return el(
    "div",
    { class: "vv-card-part" },
    el("h4", { text: translated(model.title, app) }),
    el("p", {
      class: "vv-text",
      text: t("cardSize", {
        parameters: grouped(model.num_parameters),
        depth,
        heads,
        dim,
        height: image.height,
        width: image.width,
        patchHeight: grid.patch_height,
        patchWidth: grid.patch_width,
      }),
    }),
  );
}

/** Accuracy: a table of measurements, else the sentence in the checkpoint, else that nothing is known. */
function accuracy(app) {
  const { t } = app;
  const { manifest } = app.source;
  const { model } = manifest;
  const { num_classes: classes } = model;
  if (manifest.pass.predictions.length === 0) return null;
  const { measurements } = model;
  const rows = ["top1", "top5", "group", "ece"].filter((name) => Object.hasOwn(measurements, name));
  const shares = percents(rows.map((name) => measurements[name]));
  const chance = chanceOf(classes);
  let body;
  if (model.trained === false) body = el("p", { class: "vv-text", text: t("cardUntrained") });
  else if (rows.length > 0) {
    body = el(
      "table",
      { class: "vv-ledger" },
      el(
        "tbody",
        {},
        ...rows.map((name, at) =>
          el(
            "tr",
            {},
            el("th", { scope: "row", text: t("figure_" + name) }),
            el("td", { class: "vv-shape", text: shares[at] }),
            el("td", {
              class: "vv-note",
              text: Object.hasOwn(chance, name) ? t("figureChance", { share: percent(chance[name]) }) : "",
            }),
          ),
        ),
      ),
    );
  } else
    body = el("p", { class: "vv-text", text: translated(model.details.accuracy ?? t("cardNoFigures"), app) });
  const tested =
    rows.length > 0 && measurements.pictures
      ? el("p", { class: "vv-note", text: t("cardPictures", { count: grouped(measurements.pictures) }) })
      : null;
  return el("div", { class: "vv-card-part" }, el("h4", { text: t("cardGood") }), body, tested);
}

/**
 * How well the model tells pictures of its classes from others: the shares that it catches and lets through.
 */
function tells({ t, source: { manifest } }) {
  const { others, photographs } = manifest.model.measurements;
  if (!others) return null;
  const rows = othersRows({ others, photographs }, t);
  const shares = percents(rows.map(({ share }) => share));
  const { pictures, classes } = others;
  return el(
    "div",
    { class: "vv-card-part" },
    el("h4", { text: t("cardTells") }),
    el(
      "table",
      { class: "vv-ledger" },
      el(
        "tbody",
        {},
        ...rows.map(({ name, note }, at) =>
          el(
            "tr",
            {},
            el("th", { scope: "row", text: name }),
            el("td", { class: "vv-shape", text: shares[at] }),
            el("td", { class: "vv-note", text: note }),
          ),
        ),
      ),
    ),
    el("p", {
      class: "vv-note",
      text: [
        pictures && classes ? t("othersPictures", { pictures: grouped(pictures), classes }) : "",
        photographsNote(photographs, t),
        t("othersNote"),
      ]
        .filter(Boolean)
        .join(" "),
    }),
  );
}

/** How well its attention maps find the objects, compared with maps that need no model. */
function looks(app) {
  const { t } = app;
  const { explainers = [], measurements } = app.source.manifest.model;
  const { boxes } = measurements;
  if (!boxes) return null;
  const maps = Object.entries(boxes);
  const pointed = percents(maps.map(([, { pointing }]) => pointing));
  const name = (map) => {
    const explainer = explainers.find(({ key }) => key === map);
    const title = explainer ? explainerName(explainer, app) : map === "uniform" ? t("boxes_uniform") : map;
    return map === "uniform" || explainer?.baseline ? t("boxesWithoutModel", { map: title }) : title;
  };
  return createFold(
    app,
    "boxes",
    t("cardLooks"),
    createTable(
      t,
      ["boxesMap", "boxesEnergy", "boxesPointing"],
      el(
        "tbody",
        {},
        ...maps.map(([map, { energy }], at) =>
          el(
            "tr",
            {},
            el("th", { scope: "row", text: name(map) }),
            el("td", { class: "vv-shape", text: t("times", { times: energy.toFixed(2) }) }),
            el("td", { class: "vv-shape", text: pointed[at] }),
          ),
        ),
      ),
    ),
    el("p", { class: "vv-note", text: t("boxesNote") }),
  );
}

/** The text that says what its training data lacks; "" where nobody wrote one. @returns {string} */
function lacksOf({ details: { data = "" }, light_ink_only: lightOnly }) {
  const set = "lacks_" + data.split(":")[0];
  const keys = lightOnly === false ? [set + "_both", set] : [set];
  return keys.find(hasText) ?? "";
}

/**
 * A fold: a sentence on what the model knows, and inside it all classes; null for an untrained model, or
 * where the classes have no names or are too many to read.
 * @param {import("../main.js").App} app
 */
export function createKnown(app) {
  const { model } = app.source.manifest;
  const byGroup = classesByGroup(model);
  if (byGroup.length === 0 || model.trained === false) return null;
  const lacks = lacksOf(model);
  const [part] = kinds(byGroup, app);
  if (lacks) setText(/** @type {HTMLElement} */ (part.querySelector("summary")), app.t(lacks));
  return part;
}

/** Its training data, terms, licence and classes, and what the data lacks. */
function knows(app) {
  const { t } = app;
  const { manifest } = app.source;
  const { model } = manifest;
  const { data = "", terms, license } = model.details;
  const lacks = lacksOf(model);
  const rows = [
    [t("fact_data"), data],
    [t("fact_terms"), terms],
    [t("fact_license"), license],
  ]
    .filter(([, text]) => text)
    .map(([name, text]) => [name, inGroups(translated(text, app))]);
  const byGroup = classesByGroup(model);
  if (rows.length === 0 && byGroup.length === 0) return null;
  return el(
    "div",
    { class: "vv-card-part" },
    el("h4", { text: t("cardKnows") }),
    model.trained === false
      ? el("p", { class: "vv-text", text: t("cardUnseen") })
      : lacks
        ? el("p", {
            class: "vv-text",
            text: t(lacks) + " " + t(manifest.pass.known_or_not ? "lacksTells" : "lacksAnswers"),
          })
        : null,
    facts(rows),
    ...kinds(byGroup, app),
  );
}

function kinds(list, app) {
  if (list.length === 0) return [];
  const count = list.reduce((sum, { labels }) => sum + labels.length, 0);
  const rows = list.map(({ name, labels }) => [
    groupName(name, app),
    labels.map((label) => labelName(label, app)).join(", "),
  ]);
  const body = rows.length > 1 ? facts(rows) : el("p", { class: "vv-note", text: rows[0][1] });
  return [
    el("details", { class: "vv-facts" }, el("summary", { text: app.t("cardClasses", { count }) }), body),
  ];
}

/** Origin and training; facts without a translated name keep their own names. */
function origin(app) {
  const { t } = app;
  const { manifest } = app.source;
  const { model } = manifest;
  const rounded = app.backend.rounded(manifest);
  const name = (key) => {
    const own = "fact_" + key.replace(/[^A-Za-z0-9]+/g, "_");
    return hasText(own) ? t(own) : key;
  };
  const rows = [
    [t("model"), model.name],
    [t("source"), translated(model.source, app)],
    ...(model.outputs === "one_of" ? [] : [[t("cardOutputs"), t("outputs_" + model.outputs)]]),
    ...model.assumed.map((text) => [t("cardAssumed"), translated(text, app)]),
    ...(model.details.temperature ? [[t("temperature"), digits(model.temperature)]] : []),
    ...Object.entries(model.details)
      .filter(([key]) => !ELSEWHERE.includes(key))
      .map(([key, text]) => [name(key), inGroups(translated(text, app))]),
    ...(rounded ? [[t("fact_rounded"), rounded]] : []),
  ];
  return el("div", { class: "vv-card-part" }, el("h4", { text: t("cardOrigin") }), facts(rows));
}

function facts(rows) {
  return el(
    "dl",
    { class: "vv-card-facts" },
    ...rows.flatMap(([name, text]) => [el("dt", { text: name }), el("dd", { text: String(text) })]),
  );
}

/** The accuracy of guessing at random. */
function chanceOf(classes) {
  return { top1: 1 / classes, top5: Math.min(1, 5 / classes) };
}

/**
 * Saves the measurements of the model: how often it is right, what it refuses, how well its maps find the
 * object.
 */
function saves({ source: { manifest } }) {
  const { measurements } = manifest.model;
  const { boxes, others, photographs } = measurements;
  const chance = chanceOf(manifest.model.num_classes);
  const names = Object.keys(measurements).filter(
    (name) => !["boxes", "others", "photographs"].includes(name),
  );
  const tables = {
    ...(names.length > 0
      ? {
          measured: {
            columns: ["figure", "value", "chance"],
            rows: names.map((name) => [name, measurements[name], chance[name] ?? NaN]),
          },
        }
      : {}),
    ...(others ? { others: { columns: ["figure", "value"], rows: Object.entries(others) } } : {}),
    ...(photographs
      ? { photographs: { columns: ["figure", "value"], rows: Object.entries(photographs) } }
      : {}),
    ...(boxes
      ? {
          boxes: {
            columns: ["map", "energy", "pointing"],
            rows: Object.entries(boxes).map(([map, { energy, pointing }]) => [map, energy, pointing]),
          },
        }
      : {}),
  };
  const drawn = boxes || ["top1", "top5", "group"].some((name) => Object.hasOwn(measurements, name));
  return { tables, figures: drawn ? ["measured"] : [] };
}
