/** Words about explanations: names of explainers and classes, what they cost, what is explained. */

import { LIKE } from "../data/explanations.js";
import { LIMITS } from "../engine/tables.js";
import { grouped, percent, signed } from "../maths/numbers.js";
import { mainExplainer, scoreOf, targetOf } from "../state/explaining.js";
import { languageOf } from "./language.js";
import { labelName, tokenName } from "./words.js";

/** @param {import("../types.js").Explainer} one */
export function explainerName({ name, names }, { language }) {
  return names[languageOf(language)] ?? name;
}

/** A sentence about the values of an explainer. @param {import("../types.js").Explainer} one */
export function explainerSentence({ sentence, sentences }, { language }) {
  return sentences[languageOf(language)] ?? sentence;
}

/**
 * The name of a class; its number where there are too many names to send.
 * @param {number|"like"|null} index  or LIKE
 * @param {import("../main.js").App} app
 */
export function className(index, app) {
  if (index === LIKE) return app.t("explainLike");
  const { model, pass } = app.source.manifest;
  const label = (model.labels ?? pass.labels)[index];
  return label === undefined ? app.t("classNumber", { index }) : labelName(label, app);
}

/**
 * Names the explanation on the picture for a caption: the explainer, the class if it depends on one, and the
 * token that it is computed for.
 * @param {import("../main.js").App} app
 */
export function aboutExplained(app) {
  const { t, source, selection } = app;
  const explainer = mainExplainer(selection, source);
  const target = targetOf(selection, source);
  const label = className(target, app);
  const what = target === LIKE ? label : t("explainFor", { label });
  return [
    explainerName(explainer, app),
    ...(explainer.needs.includes("class") ? [what] : []),
    ...(explainer.needs.includes("pool") ? [t("explainSeenPool")] : []),
    ...(explainer.needs.includes("token")
      ? [t("explainSeen", { token: tokenName(selection.token, app) })]
      : []),
  ].join(" · ");
}

/**
 * The cost of an explainer: by its definition before it ran, afterwards the counted passes and the seconds.
 * @param {import("../types.js").Explainer} explainer
 * @param {import("../data/explanations.js").Explanation|null} found
 */
export function costText(explainer, found, t) {
  if (!found)
    return t(explainer.passes === 0 ? "explainCostNothing" : "explainCostBefore", {
      passes: grouped(explainer.passes),
    });
  const { forward, backward, seconds, gap } = found;
  const passes = forward + 2 * backward;
  const count = passes < 9.95 ? passes.toFixed(1).replace(".0", "") : grouped(Math.round(passes));
  const parts = [t(passes === 0 ? "explainCostNothing" : "explainCostPasses", { passes: count })];
  const cost = [...parts, ...(seconds > 0 ? [timeText(seconds, t)] : [])].join(", ");
  return gap > LIMITS.gap ? cost + ". " + t("explainGap", { gap: percent(gap) }) : cost;
}

/** A map that beats fewer of the random orders is no better than chance. */
export const SURE = 0.95;

/**
 * Words and numbers of what falls in a fair test: the probability of a class, or the likeness to the picture
 * beside. score: its name; what: in a sentence; measure: with its unit; text: a value of it.
 * @param {number|"like"|null} target
 * @param {import("../main.js").App} app
 */
export function fallingOf(target, app) {
  const { t, source } = app;
  if (target === LIKE) {
    const { target: name } = scoreOf(target, source);
    const score = t("experiment.fair_likeness", { name });
    return {
      score,
      what: t("fairWhatLike", { score }),
      measure: t("likenessTo", { name }) + ": " + t("likenessWhy"),
      text: (value) => signed(value).trim(),
    };
  }
  const label = target === null ? "" : className(target, app);
  return {
    score: t("experiment.fair_probability"),
    what: t("fairWhat", { label }),
    measure: t("fairMeasure", { label }),
    text: percent,
  };
}

/**
 * A sentence about one map of a fair test, from its figures; see `Removal.sentence` in Python.
 * @param {string} key
 * @param {string} name
 * @param {import("../data/fairtest.js").Result} result
 * @param {string} score  the name of what falls
 */
export function fairSentence(key, name, result, score, t) {
  const sentence = orderSentence(key, name, result, t);
  return result.target === null ? t("experiment.fair_like", { score, sentence }) : sentence;
}

function orderSentence(key, name, { maps, orders }, t) {
  const { beaten, gain } = maps[key];
  const values = { name, beaten, orders };
  if (beaten < SURE * orders) return t("experiment.fair_chance", values);
  if (key === "centre") return t("experiment.fair_centre", values);
  return t(gain > maps.centre.gain ? "experiment.fair_better" : "experiment.fair_not_centre", values);
}

/** A time: 45 ms, 3.1 s. */
export function timeText(seconds, t) {
  return Math.round(1000 * seconds) < 1000
    ? t("explainMs", { ms: Math.max(1, Math.round(1000 * seconds)) })
    : t("explainSeconds", { seconds: seconds.toFixed(1) });
}
