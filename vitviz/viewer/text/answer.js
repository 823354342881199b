/** The answer of a model to a picture, as a phrase, and the answers that come next. */

import { percent } from "../maths/numbers.js";
import { groupName, labelName } from "./words.js";

/**
 * @param {{t: (key: string, values?: any) => string, language: string,
 *   source: {manifest: import("../types.js").Manifest}}} app
 * @returns {{text: string, note: string}|null}  null if the model has no classes
 */
export function answerOf(app) {
  const { t, source: { manifest } } = app;
  const { pass: { answer }, model } = manifest;
  if (!answer) return null;
  const name = nameOf(answer, app);
  const share = percent(answer.probability);
  if (model.trained === false) return { text: t("noAnswer"), note: t("noAnswerWhy") };
  if (answer.known === false) return { text: t("notTaught", { name, share }), note: t("notTaughtWhy") };
  if (answer.sure === false) return { text: t("notSure"), note: t("notSureWhy", { name, share }) };
  return { text: t("answer", { name, share }), note: "" };
}

/** The class or the group that is answered, by the name that people read. */
export const nameOf = ({ kind, name }, app) => (kind === "group" ? groupName(name, app) : labelName(name, app));

/** Whether an answer is one: of a model that was taught, sure, and of something that it knows. */
export const isAnswer = ({ manifest: { pass: { answer }, model } }) =>
  answer !== null && model.trained !== false && answer.known !== false && answer.sure !== false;

const RIVALS = 2;

/**
 * The answers after the first: classes where the answer is a class, groups where it is a group. Their
 * probabilities are calibrated as that of the answer is.
 * @param {{language: string, source: {manifest: import("../types.js").Manifest}}} app
 * @returns {{name: string, probability: number}[]}
 */
export function rivalsOf(app) {
  const { pass: { answer, predictions, groups }, model } = app.source.manifest;
  if (!answer || model.trained === false) return [];
  const named = answer.kind === "group" ? groups.map(({ name, probability }) => ({ name: groupName(name, app), probability }))
    : predictions.map(({ label, probability }) => ({ name: labelName(label, app), probability }));
  return named.slice(1, 1 + RIVALS);
}

/**
 * The answer of an intact model and that of a changed one, each with its share before and after: groups where both
 * answers are groups, else classes; none of a model that was taught nothing.
 * @param {any} app
 * @param {any} changed  the app of the changed model
 * @returns {{name: string, before: number, probability: number}[]}
 */
export function moved(app, changed) {
  if (app.source.manifest.model.trained === false) return [];
  const sides = [app, changed].map(({ source }) => source.manifest.pass);
  const groups = sides.every(({ answer }) => answer?.kind === "group");
  const firsts = sides.map(({ groups: [group], predictions: [one] }) => (groups ? group.name : one.index));
  const shareIn = (pass, one) => (groups ? pass.groups.find(({ name }) => name === one)?.probability ?? 0 : pass.probabilities[one]);
  const named = (one) => (groups ? groupName(one, app) : labelName(sides.flatMap(({ predictions }) => predictions).find(({ index }) => index === one).label, app));
  return [...new Set(firsts)].map((one) => ({ name: named(one), before: shareIn(sides[0], one), probability: shareIn(sides[1], one) }));
}
