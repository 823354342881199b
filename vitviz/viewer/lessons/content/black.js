/**
 * Lesson A black patch is not a missing patch: three ways to hide the middle of a photo, and their ranking on
 * another photo.
 */

import { EXPERIMENT, bars, told } from "../figures.js";
import { recalled } from "../recalled.js";

const beside = "experiment";
const DOG = { model: "photos", example: "dog" };
const GOLDFISH = { model: "photos", example: "goldfish" };
const WAYS = { out: "remove_CENTRE", mean: "replace_CENTRE_mean_0", black: "replace_CENTRE_black_0" };
const ASKED = {
  kind: /** @type {"number"} */ ("number"),
  truth: "otherShare",
  percent: true,
  min: 0,
  max: 1,
};
const left = (way) => ({ truth: "outcomeShare", at: { experiment: WAYS[way] } });
const OWN = { word: { truth: "finalWord" }, share: { truth: "wordShare" } };
const LEFT = { out: left("out"), mean: left("mean"), black: left("black") };
const below = (of, times) => ({ truth: "otherShare", below: { ...of, times } });

/** @type {import("../steps.js").Lesson} */
export const black = {
  id: "black",
  minutes: 7,
  ...GOLDFISH,
  recall: recalled("patches"),
  figure: EXPERIMENT,
  steps: [
    { id: "hide", figure: "stage", values: OWN },
    {
      id: "out",
      state: { experiment: WAYS.out, beside },
      question: ASKED,
      values: OWN,
      claim: below(OWN.share, 0.75),
      reveal: { shows: ["beside"] },
    },
    {
      id: "mean",
      state: { experiment: WAYS.mean, beside },
      question: ASKED,
      values: { ...OWN, ...LEFT },
      claim: { truth: "otherShare", above: { ...LEFT.out, times: 0.9 } },
      reveal: { shows: ["beside"] },
    },
    {
      id: "black",
      state: { experiment: WAYS.black, beside },
      question: ASKED,
      values: { ...OWN, ...LEFT, now: { truth: "otherWord" } },
      claim: below(LEFT.mean, 0.9),
      reveal: { shows: ["beside"] },
    },
    {
      id: "other",
      figure: told(bars(LEFT)),
      state: DOG,
      question: { kind: "choose", truth: "hurtsMost", at: { experiments: WAYS }, options: Object.keys(WAYS) },
      values: { ...OWN, ...LEFT },
      claim: { truth: "hurtsMost", at: { experiments: WAYS }, is: "mean" },
      reveal: { state: { experiment: WAYS.mean, beside }, shows: ["beside"] },
    },
  ],
};
