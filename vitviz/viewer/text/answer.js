/** The answer of a model to a picture, as a phrase, and the answers that come next. */

import { cosineDistance } from "../maths/difference.js";
import { digits, grouped, numberTexts, percent, percents, signed } from "../maths/numbers.js";
import { groupName, labelName } from "./words.js";

/**
 * @param {{t: (key: string, values?: any) => string, language: string,
 *   source: {manifest: import("../types.js").Manifest}}} app
 * @returns {{text: string, note: string, why?: string, line: string}|null}  null if the model has no classes;
 *   note: what stands
 *   small beside it; why: more of that, where there is room; line: the answer where one line is all there is.
 *   The text is that of vitviz/probe/measure/phrases.py
 */
export function answerOf(app) {
  const { t } = app;
  const { pass, model } = app.source.manifest;
  const { answer } = pass;
  if (!answer) return null;
  const name = nameOf(answer, app);
  const line = (text, note = "") => ({ text, note, line: text });
  if (model.trained === false) return line(t("noAnswer"), t("noAnswerWhy"));
  if (answer.outputs === "value")
    return line(t("answerValues", { listed: withMore() }), t("outputsWhy_value"));
  if (answer.outputs === "any_of")
    return line(
      answer.level === "none"
        ? t("answerNoneTrue", { count: grouped(model.num_classes), nearest: withMore() })
        : t("answerSeveral", { listed: withMore() }),
    );
  const [share] = percents([/** @type {number} */ (answer.probability)]);
  if (answer.outputs === "score") return line(t("answer", { name, share }), t("outputsWhy_score"));
  if (answer.known === false) return none();
  if (answer.sure === false) return line(t("notSure"), t("notSureWhy", { name, share }));
  if (answer.level !== "maybe") return line(t("answer", { name, share }));
  const why = model.certain === null ? t("maybeOthers") : t("maybeWhy", { least: percent(model.certain) });
  return line(t("maybe", { name, share }), why);

  /** The parts of the answer by name and number, and how many more there are. */
  function withMore() {
    const texts = numberTexts(answer.parts);
    const listed = answer.parts.map(({ label }, at) => labelName(label, app) + " " + texts[at]).join(", ");
    const count = answer.count - answer.parts.length;
    return count > 0 ? t("answerMore", { listed, count }) : listed;
  }

  /** Without a percentage: it would say that the model is sure of what it has just refused. */
  function none() {
    const [text, note] = [
      t("notTaught", { count: grouped(model.num_classes - Number(typeof model.none === "number")) }),
      t("notTaughtGuess", { name }),
    ];
    return { text, note, why: whyNone(app), line: t("notTaughtLine", { none: text, guess: note }) };
  }
}

/**
 * Why a picture counts as none of the classes: by its score, or by its class.
 * @param {{t: (key: string, values?: any) => string, source: {manifest: import("../types.js").Manifest}}} app
 */
export function whyNone({ t, source: { manifest } }) {
  const { score, threshold } = /** @type {import("../types.js").KnownOrNot} */ (manifest.pass.known_or_not);
  return score < threshold ? t("notTaughtWhy") : t("notTaughtClass");
}

/** The class or the group that is answered, by the name that people read. */
export const nameOf = ({ kind, name }, app) =>
  kind === "group" ? groupName(name, app) : labelName(name, app);

/** The output of a model without class names, in words: its CLS token, or a vector. */
export function vectorName({ t, source }) {
  const { head, pool } = source.manifest.model;
  return t(head === "none" && pool === "token" ? "vectorCls" : "vectorOther");
}

/**
 * How far the vector has moved in a changed pass, in words; "" where a model names classes, or gives no
 * vector.
 * @param {any} app
 * @param {any} changed  the app of the changed model
 */
export function movedText(app, changed) {
  const [before, after] = [app, changed].map(({ source }) => source.manifest.pass.vector);
  return before && after
    ? app.t("vectorMoved", { what: vectorName(app), distance: digits(cosineDistance(before, after)) })
    : "";
}

/**
 * The likeness to the picture that stood beside before the experiment: of the intact pass, and of the changed
 * one; null where none did. A vector that is still to come is "…".
 * @param {any} app
 * @param {any} changed  the app of the changed model
 * @returns {{name: string, before: number, probability: number, text: string, line: string}|null}  as of `moved`;
 *   line: all in one
 */
export function likenessOf({ t, source }, changed) {
  const { liked } = source.explanations;
  if (!liked) return null;
  const [other, ...both] = [liked, source, changed.source].map(
    ({ manifest, pooled }) => manifest.pass.vector ?? pooled?.get(),
  );
  const [before, after] = both.map((vector) => (vector && other ? 1 - cosineDistance(vector, other) : NaN));
  const [name, text] = [
    t("likenessTo", { name: liked.manifest.photo.name }),
    [before, after].map((one) => (Number.isNaN(one) ? "…" : signed(one).trim())).join(" → "),
  ];
  return { name, before: before || 0, probability: after || 0, text, line: name + ": " + text };
}

/**
 * Whether there is an answer that can be kept or lost: the model is trained and not unsure, knows the picture's
 * kind, and names classes, not values.
 */
export const isAnswer = ({ manifest: { pass, model } }) =>
  pass.answer !== null &&
  model.trained !== false &&
  ["answer", "maybe"].includes(pass.answer.level) &&
  pass.answer.outputs !== "value";

/** Whether an answer is refused: its shares are of classes that it has just denied. */
export const refuses = ({ manifest: { pass, model } }) =>
  pass.answer?.known === false && model.trained !== false;

/** Threshold below which the crop is mentioned. A square cut from an ordinary 4 : 3 photo keeps 75 %. */
const NEARLY_ALL = 0.85;

/** How much of the photo the model saw, in words; "" where that was nearly all of it, or nobody knows. */
export function partSeen({ t, source }) {
  const { frame } = source.manifest.photo;
  const share = frame ? frame[2] * frame[3] : 1;
  return share < NEARLY_ALL ? t("sawPart", { share: Math.max(1, Math.round(100 * share)) + "%" }) : "";
}

const RIVALS = 2;

/**
 * The answers after the first: classes where the answer is a class, groups where it is a group. Their
 * probabilities are calibrated as that of the answer is. None after a refusal, of a score and of values.
 * Where several classes can be true, those that the answer does not name.
 * @param {{language: string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {{name: string, probability: number, text: string}[]}  text: the probability as in the list that
 *   they are from
 */
export function rivalsOf(app) {
  const { pass, model } = app.source.manifest;
  const { answer, predictions, groups } = pass;
  if (!answer || model.trained === false || answer.known === false) return [];
  if (answer.outputs === "value" || answer.outputs === "score") return [];
  const named =
    answer.kind === "group"
      ? groups.map(({ name, probability }) => ({ name: groupName(name, app), probability }))
      : predictions.map(({ label, probability }) => ({ name: labelName(label, app), probability }));
  const shares = percents(named.map(({ probability }) => probability));
  const first = answer.outputs === "any_of" ? answer.parts.length : 1;
  return named.map((row, at) => ({ ...row, text: shares[at] })).slice(first, first + RIVALS);
}

/**
 * The answer of an intact model and that of a changed one, each with its share before and after: groups where
 * both answers are groups, else classes; none of a model that was taught nothing, and of values, which are no
 * shares.
 * @param {any} app
 * @param {any} changed  the app of the changed model
 * @returns {{name: string, before: number, probability: number, text: string}[]}
 */
export function moved(app, changed) {
  const { outputs, trained } = app.source.manifest.model;
  if (trained === false || outputs === "value") return [];
  const sides = [app, changed].map(({ source }) => source.manifest.pass);
  const groups = sides.every(({ answer }) => answer?.kind === "group");
  const firsts = sides.map(({ groups: [group], predictions: [top] }) => (groups ? group.name : top.index));
  const shareIn = (pass, key) =>
    groups ? (pass.groups.find(({ name }) => name === key)?.probability ?? 0) : pass.probabilities[key];
  const nameIn = (key) =>
    groups
      ? groupName(key, app)
      : labelName(
          sides.flatMap(({ predictions }) => predictions).find(({ index }) => index === key).label,
          app,
        );
  const named = sides.flatMap(({ answer }) => (answer?.outputs === "any_of" ? answer.parts : []));
  const all = [...new Set([...firsts, ...named.map(({ index }) => index)])];
  const shares = sides.map((pass) => all.map((key) => shareIn(pass, key)));
  const [before, after] = shares.map((side, at) =>
    refuses([app, changed][at].source) ? side.map(() => app.t("noShare")) : percents(side),
  );
  return all.map((key, at) => ({
    name: nameIn(key),
    before: shares[0][at],
    probability: shares[1][at],
    text: before[at] + " → " + after[at],
  }));
}
