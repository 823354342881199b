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
  const name = answer.kind === "group" ? groupName(answer.name, app) : labelName(answer.name, app);
  const share = percent(answer.probability);
  if (model.trained === false) return { text: t("noAnswer"), note: t("noAnswerWhy") };
  if (answer.known === false) return { text: t("notTaught", { name, share }), note: t("notTaughtWhy") };
  if (answer.sure === false) return { text: t("notSure"), note: t("notSureWhy", { name, share }) };
  return { text: t("answer", { name, share }), note: "" };
}

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
