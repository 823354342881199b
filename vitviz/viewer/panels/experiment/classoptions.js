/** The classes of a menu in the panel Experiment: the most probable ones, then all others. */

import { el } from "../../parts/dom.js";
import { className } from "../../text/explaining.js";

const NEAREST = 5;

/**
 * @param {import("../../main.js").App} app
 * @param {number} [from]  1: without the answer
 * @returns {HTMLElement[]}  groups of options, with the number of a class as their value
 */
export function classOptions(app, from = 0) {
  const { t, source } = app;
  const { model, pass } = source.manifest;
  const option = (index) => el("option", { value: String(index), text: className(index, app) });
  const left = pass.predictions.slice(0, from).map(({ index }) => index);
  const near = pass.predictions.slice(from, 1 + NEAREST).map(({ index }) => index);
  const others = Object.keys(model.labels ?? [])
    .map(Number)
    .filter((index) => !left.includes(index) && !near.includes(index));
  const groups = [el("optgroup", { label: t("explainProbable") }, ...near.map(option))];
  if (others.length > 0) groups.push(el("optgroup", { label: t("explainOthers") }, ...others.map(option)));
  return groups;
}

/**
 * Chooses a class in such a menu. A link can name one that is not in it: the answer, or one whose name was not sent.
 * @param {HTMLSelectElement} menu
 * @param {string} value
 * @param {() => string} nameOf
 */
export function chooseClass(menu, value, nameOf) {
  if (![...menu.options].some((option) => option.value === value))
    menu.append(el("option", { value, text: nameOf() }));
  menu.value = value;
}
