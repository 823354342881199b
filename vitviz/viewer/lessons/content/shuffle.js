/**
 * Lesson Shuffle the jigsaw: what a model still knows when its patches are mixed, or their places are gone.
 */

import { EXPERIMENT } from "../figures.js";
import { recalled } from "../recalled.js";

const beside = "experiment";
const SHUFFLED = "shuffle_1_3";
const MIXED = { experiment: SHUFFLED, beside };
const DRAWS = { experiments: Object.fromEntries([1, 2, 3, 4, 5].map((seed) => [seed, "shuffle_1_" + seed])) };
const COFFEE = { model: "photos", example: "coffee" };
const GOLDFISH = { model: "photos", example: "goldfish" };

/** @type {import("../steps.js").Lesson} */
export const shuffle = {
  id: "shuffle",
  minutes: 8,
  ...COFFEE,
  recall: recalled("places"),
  figure: EXPERIMENT,
  steps: [
    { id: "jigsaw", figure: "stage" },
    {
      id: "heap",
      state: MIXED,
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" }, now: { truth: "otherWord" } },
      claim: { truth: "sameWord", is: "same" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "fish",
      state: { ...GOLDFISH, ...MIXED },
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: {
        word: { truth: "finalWord" },
        share: { truth: "wordShare" },
        now: { truth: "otherWord" },
        same: { truth: "outcomesSame", at: DRAWS },
      },
      claim: { truth: "sameWord", is: "other" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "off",
      state: { experiment: "positions_off_0", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
      claim: { truth: "otherShare", above: 0.5 },
      reveal: { shows: ["beside"] },
    },
    {
      id: "both",
      state: { experiment: "positions_off_0*" + SHUFFLED, beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" } },
      reveal: { shows: ["beside"] },
    },
    {
      id: "transfer",
      state: { model: "photos", example: "cat", ...MIXED },
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" }, now: { truth: "otherWord" } },
      reveal: { shows: ["beside"] },
    },
  ],
};
