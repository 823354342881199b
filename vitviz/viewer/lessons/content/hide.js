/** Lesson Hide and seek: four ways to choose patches, and what the answer loses without them. */

import { EXPERIMENT, bars, told } from "../figures.js";
import { recalled } from "../recalled.js";

const beside = "experiment";
// one lot is chance, five say a little
const LOTS = [1, 2, 3, 4, 5].map((seed) => "remove_LOT(" + seed + ")");
const PICKS = {
  attention: "remove_FIRST(attention)",
  random: LOTS,
  centre: "remove_FIRST(centre)",
  gradient: "remove_FIRST(attention_gradient)",
};
const shareWithout = (pick) =>
  pick === "random"
    ? { truth: "outcomesMean", at: { experiments: LOTS } }
    : { truth: "outcomeShare", at: { experiment: PICKS[pick] } };
const LEFT = Object.fromEntries(Object.keys(PICKS).map((pick) => [pick, shareWithout(pick)]));
const ASKED = {
  kind: /** @type {"number"} */ ("number"),
  truth: "otherShare",
  percent: true,
  min: 0,
  max: 1,
};
const OWN = { word: { truth: "finalWord" }, share: { truth: "wordShare" } };

/** @type {import("../steps.js").Lesson} */
export const hide = {
  id: "hide",
  minutes: 8,
  model: "photos",
  example: "goldfish",
  recall: recalled("even"),
  figure: EXPERIMENT,
  steps: [
    { id: "game", figure: "stage", state: { layer: "last", overlay: "attention" }, shows: ["legend"] },
    {
      id: "attention",
      state: { experiment: PICKS.attention, beside },
      question: ASKED,
      values: OWN,
      reveal: { shows: ["beside"] },
    },
    {
      id: "random",
      figure: told(
        bars({
          ...Object.fromEntries(
            LOTS.map((lot, at) => [at + 1, { truth: "outcomeShare", at: { experiment: lot } }]),
          ),
          mean: shareWithout("random"),
        }),
        EXPERIMENT.before,
      ),
      state: { experiment: LOTS[0], beside },
      question: { ...ASKED, ...shareWithout("random") },
      values: {
        ...OWN,
        attention: shareWithout("attention"),
        least: { truth: "outcomesLeast", at: { experiments: LOTS } },
        most: { truth: "outcomesMost", at: { experiments: LOTS } },
      },
      reveal: { shows: ["beside"] },
    },
    {
      id: "centre",
      state: { experiment: PICKS.centre, beside },
      question: ASKED,
      values: { ...OWN, attention: shareWithout("attention") },
      claim: { truth: "otherShare", above: shareWithout("attention") },
      reveal: { shows: ["beside"] },
    },
    {
      id: "gradient",
      state: { experiment: PICKS.gradient, beside },
      question: ASKED,
      values: { ...OWN, attention: shareWithout("attention") },
      claim: { truth: "otherShare", below: shareWithout("attention") },
      reveal: { shows: ["beside"] },
    },
    {
      id: "again",
      figure: told(bars(LEFT)),
      state: { model: "photos", example: "cat" },
      question: {
        kind: "choose",
        truth: "hurtsMost",
        at: { experiments: PICKS },
        options: Object.keys(PICKS),
      },
      values: { ...OWN, ...LEFT },
    },
  ],
};
