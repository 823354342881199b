/** Lesson Does this map matter?: a map is made even, and the answer is watched. */

import { EXPERIMENT, bars, told } from "../figures.js";
import { recalled } from "../recalled.js";

const beside = "experiment";
const BISON = { model: "photos", example: "bison" };
const CAT = { model: "photos", example: "cat" };
// All tokens of another photo, put in before the first block: that photo's answer, as it is and with an even
// gaze.
const EVEN = "*even_cls_LAST";
const PHOTOS = ["cat", "goldfish", "red-panda", "dog", "coffee"];
const OTHERS = Object.fromEntries(
  PHOTOS.flatMap((photo) =>
    ["", EVEN].map((even) => [photo + even, "transplant_all_0_example-" + photo + even]),
  ),
);
// In another order and without names: they would tell the last step.
const KEPT = Object.fromEntries(
  [
    ...[...PHOTOS].sort().map((photo) => ({
      truth: "keptShare",
      at: { experiments: [OTHERS[photo], OTHERS[photo + EVEN]] },
    })),
    { truth: "keptHere" },
  ].map((kept, at) => [at + 1, kept]),
);
const DIGIT = { model: "mnist", example: "digit" };

/** @type {import("../steps.js").Lesson} */
export const matter = {
  id: "matter",
  minutes: 8,
  ...BISON,
  recall: recalled("even"),
  figure: EXPERIMENT,
  steps: [
    {
      id: "map",
      figure: "stage",
      state: { ...BISON, layer: "last", overlay: "attention" },
      shows: ["legend", "title"],
    },
    {
      id: "even",
      state: { ...BISON, layer: "last", experiment: "even_cls_LAST", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
      claim: { truth: "otherShare", above: { truth: "wordShare", times: 0.8 } },
      reveal: { shows: ["beside"] },
    },
    {
      id: "cat",
      state: { ...CAT, layer: "last", experiment: "even_cls_LAST", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" }, now: { truth: "otherWord" } },
      claim: { truth: "otherShare", below: { truth: "wordShare", times: 0.8 } },
      reveal: { shows: ["beside"] },
    },
    {
      id: "six",
      figure: told(bars(KEPT)),
      state: { ...BISON, layer: "last", experiment: "even_cls_LAST", beside },
      question: {
        kind: "number",
        truth: "halvedPhotos",
        at: { experiments: OTHERS },
        min: 0,
        max: 6,
        strict: true,
      },
      claim: { truth: "halvedPhotos", at: { experiments: OTHERS }, below: 1 },
    },
    {
      id: "layers",
      state: { ...BISON, layer: "last", experiment: "even_cls_all", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
      claim: { truth: "otherShare", below: { truth: "wordShare", times: 0.5 } },
      reveal: { shows: ["beside"] },
    },
    {
      id: "digit",
      state: { ...DIGIT, layer: "last", experiment: "even_cls_LAST", beside },
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, now: { truth: "otherWord" } },
      claim: { truth: "sameWord", is: "other" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "patches",
      state: { ...BISON, layer: "last", experiment: "even_patches_LAST", beside },
      question: { kind: "choose", truth: "sameNumbers", options: ["same", "different"] },
      claim: { truth: "sameNumbers", is: "same" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "transfer",
      state: { model: "photos", example: "coffee", layer: "last", experiment: "even_cls_LAST", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
      reveal: { shows: ["beside"] },
    },
  ],
};
