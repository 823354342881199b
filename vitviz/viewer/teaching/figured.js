/**
 * Figured: what the figure of a step shows, read from the analysis on the screen as truths and panels read it.
 * Each reader gives null while something is loading, undefined where this analysis has none. Does not use the
 * document.
 */

import { epochText } from "../data/film.js";
import { fetched, mixAt, mixingAt, normed, pairAt, waysOf, within, withinAll } from "../lessons/truths.js";
import { topShare } from "../maths/lines.js";
import { lengthOf, valueOf } from "../maths/mixing.js";
import { digits, numberTexts } from "../maths/numbers.js";
import { refuses } from "../text/answer.js";
import { optionText, written } from "../text/lesson.js";
import { hasText, labelName, photoName, sideNames } from "../text/words.js";

const MOST = 10; // classes of an answer

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../lessons/truths.js").Operand} Operand */

/**
 * The rows of a part with their operands: those that it names, or one for each head.
 * @param {App} app
 * @returns {{name: string, operand: Operand}[]}
 */
function rowsOf(app, { rows, of }) {
  if (rows)
    return Object.entries(rows).map(([key, operand]) => ({
      name: app.course.question()?.options?.includes(key) ? optionText(app, key) : namedRow(app, key),
      operand,
    }));
  return Array.from({ length: app.source.manifest.model.num_heads }, (_, head) => ({
    name: app.t("headNumber", { head }),
    operand: { ...of, at: { head } },
  }));
}

/** The name of a row, perhaps with a number. */
function namedRow({ t }, row) {
  const [key, ...number] = row.split(" ");
  return [hasText("evidence_" + key) ? t("evidence_" + key) : key, ...number].join(" ");
}

/** The values of rows, all at once. @param {App} app */
const valued = (app, part, read) => {
  const rows = rowsOf(app, part);
  return withinAll(
    rows.map(({ operand }) => app.course.value(operand)),
    (values) => read(rows, values),
  );
};

/** Bars: a share is drawn from 0 to 100%, other numbers from 0 to the largest; words have no bar. */
const bars = (app, part) =>
  valued(app, part, (rows, values) => {
    const { unit } = part.of ? { unit: "share" } : { unit: app.course.unit(rows[0].operand.truth) };
    const most = unit === "share" ? 1 : Math.max(...values);
    return rows.map(({ name, operand }, at) => ({
      name,
      text: written(app, operand, values[at]),
      share: typeof values[at] === "number" ? Math.min(1, Math.abs(values[at]) / most) : null,
    }));
  });

/** Maps: of attention from 0, of cosines the same way up and down. The patch itself has no value in some. */
const maps = (app, part) =>
  valued(app, part, (rows, values) =>
    withinAll(
      rows.map(({ operand: { at } }) => (part.note ? app.course.value({ ...part.note, at }) : "")),
      (notes) =>
        rows.map(({ name }, at) => {
          const known = values[at].filter(Number.isFinite);
          const most = Math.max(...known.map(Math.abs));
          return {
            name,
            values: values[at],
            scale: { min: Math.min(...known) < 0 ? -most : 0, max: most },
            note: part.note ? app.t("evidencePixels", { value: written(app, part.note, notes[at]) }) : "",
          };
        }),
    ),
  );

/** Sums of a hidden unit, from -6 to 6. */
const SUMS = Array.from({ length: 61 }, (_, at) => (at - 30) / 5);

/** The columns of curves: their names, the fields of the operand in each, and the one that is asked for. */
const COLUMNS = {
  layers: ({ source: { manifest } }, { experiment = "" } = {}) =>
    Array.from({ length: manifest.model.depth }, (_, layer) => ({
      name: String(layer),
      at: experiment ? { experiment: experiment.replace("PLACE", String(layer + 1)) } : { layer },
    })),
  moments: ({ source }) =>
    within(fetched(source.film), ({ moments }) =>
      moments.map(({ epoch }, moment) => ({ name: epochText(epoch), at: { moment } })),
    ),
  shares: () =>
    Array.from({ length: 100 }, (_, at) => ({ name: String(at + 1), at: { given: (at + 1) / 100 } })),
  sums: () => SUMS.map((given) => ({ name: String(given), at: { given } })),
};

const AXES = {
  layers: "lensAxis",
  moments: "filmAxis",
  shares: "evidenceShareAxis",
  sums: "evidenceSumAxis",
};

/** The column that the question asks for. @param {App} app */
function markOf({ course }, { over, at }, last) {
  if (over === "shares") return Math.max(0, Math.round(100 * course.value(at)) - 1);
  if (over === "sums") return Math.min(last, Math.max(0, Math.round(5 * course.value(at)) + 30));
  if (over === "layers") return Number(course.truth()) - 1;
  const { moment } = course.question().at;
  return moment === "last" ? last : Math.min(last, moment);
}

/** A curve of one truth, with a mark where the question asks, and what is there. */
const curve = (app, part) =>
  within(COLUMNS[part.over](app, part.of.at), (columns) =>
    withinAll(
      [...columns.map(({ at }) => app.course.value({ ...part.of, at })), app.course.truth()],
      (found) => {
        const values = found.slice(0, -1);
        const unit = app.course.unit(part.of.truth);
        const mark = markOf(app, part, values.length - 1);
        const name = app.t("evidence_" + part.of.truth);
        const here = part.over === "shares" ? app.course.truth() : values[mark];
        return {
          columns: columns.map((column) => column.name),
          axis: app.t(AXES[part.over]),
          values,
          low: Math.min(0, ...values),
          top: unit === "share" ? topShare([values]) : Math.max(...values),
          mark,
          tick: unit === "share" ? (value) => Number((100 * value).toFixed(1)) + "%" : digits,
          name,
          reading: app.t("evidenceAt_" + part.over, {
            name,
            column: columns[mark].name,
            value: written(app, part.of, here),
          }),
        };
      },
    ),
  );

const doubled = (values) => values.map((value) => 2 * value);

/** Vectors of a token, from what attention adds to it. @type {Record<string, (mix: any) => ArrayLike<number>>} */
const OF_MIX = {
  mix: ({ mixed }) => mixed,
  before: ({ before }) => before,
  change: ({ change }) => change,
  after: ({ after }) => after,
  normed: ({ before }) => normed([...before]),
  twice: ({ before }) => doubled(before),
  twiceNormed: ({ before }) => normed(doubled([...before])),
};

/** A vector by its name. @param {App} app @param {string} key */
function vectorOf({ source, course }, key) {
  const at = course.at();
  const token = Math.max(source.grid.prefix, at.token);
  if (OF_MIX[key]) return mixAt(source, at, OF_MIX[key]);
  if (key === "value") return mixingAt(source, at, (mixing) => valueOf(mixing, Number(at.head), at.partner));
  if (["linear", "slid", "mixed"].includes(key))
    return withinAll(
      [fetched(source.embedding), fetched(source.picture)],
      ([found, picture]) => waysOf(source, found, picture, token)[key],
    );
  return within(pairAt(source, at), (pair) => pair[key]);
}

/** Vectors, each with the truth at its end, else with its length. */
const numbers = (app, { rows, ends }) =>
  withinAll(
    rows.map((key) => vectorOf(app, key)),
    (vectors) =>
      vectors.map((values, at) => {
        const end = ends[rows[at]];
        const found = end && app.course.value(end);
        return {
          name: app.t("evidence_" + rows[at]),
          values,
          note: end
            ? [
                hasText("evidence_" + end.truth) ? app.t("evidence_" + end.truth) : "",
                written(app, end, found),
              ].join(" ")
            : OF_MIX[rows[at]]
              ? app.t("mixNorm", { norm: digits(lengthOf(values)) })
              : "",
        };
      }),
  );

/** The picture and what stands beside it, with what is said of each; null stands for what is not here yet. */
function pair(app, { own, other }) {
  const there = app.facing();
  const names = there ? sideNames(app, there) : [photoName(app), ""];
  return [own, other].map((operands, at) => ({
    source: [app, there][at]?.source ?? null,
    name: names[at],
    facts: operands.map((operand) => {
      const value = app.course.value(operand);
      const text = value === null ? "…" : value === undefined ? "" : written(app, operand, value);
      const stays = app.course.value({ truth: "sameWord" }) === "same";
      if (operand.truth !== "otherShare" || stays || !text) return text;
      // The share is that of the first answer, whatever the answer is now.
      return labelName(app.course.value({ truth: "finalWord" }), app) + ": " + text;
    }),
  }));
}

/** The classes of the answer as the panel Predictions lists them: no shares where the model refuses to answer. */
function answers(app) {
  const { predictions } = app.source.manifest.pass;
  const texts = refuses(app.source) ? predictions.map(() => app.t("noShare")) : numberTexts(predictions);
  return predictions.slice(0, MOST).map(({ label, probability }, at) => ({
    name: labelName(label, app),
    text: texts[at],
    share: probability,
  }));
}

/** What a part shows, by its kind. @type {Record<string, (app: App, part: any) => any>} */
const KINDS = {
  pair,
  bars,
  maps,
  curve,
  numbers,
  row: ({ source, course }) => pairAt(source, course.at()),
  answers,
};

/**
 * What a part shows.
 * @param {App} app
 * @param {import("../lessons/figures.js").Part} part
 */
export const figured = (app, part) => KINDS[part.kind](app, part);
