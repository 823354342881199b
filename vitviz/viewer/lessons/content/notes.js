/**
 * Lesson What study notes ask: six questions from notes about Vision Transformers, answered by measuring.
 */

import { bars, numbers, pair, told } from "../figures.js";
import { recalled } from "../recalled.js";

const DOG = { model: "photos", example: "dog" };
const OFF = "positions_off_0";
const WRONG = [0, 1, 2, 3, 4].map((seed) => "positions_shuffled_" + seed);
const PLACES = told(
  bars({ patches: { truth: "patchCount" }, positions: { truth: "positionCount" } }),
  bars({ patches: { truth: "patchCount" } }),
);

/** @type {import("../steps.js").Lesson} */
export const notes = {
  id: "notes",
  minutes: 12,
  model: "photos",
  example: "red-panda",
  recall: recalled("norm"),
  figure: "stage",
  steps: [
    {
      id: "class",
      figure: told(pair([], [{ truth: "classAtStart" }]), pair([], [])),
      state: { beside: "example-dog" },
      question: { kind: "choose", truth: "classAtStart", options: ["different", "same"] },
    },
    {
      id: "length",
      figure: PLACES,
      question: { kind: "number", truth: "positionCount", min: 0, max: 400, worked: true },
    },
    {
      id: "places",
      figure: told(
        bars({
          off: { truth: "outcomeShare", at: { experiment: OFF } },
          shuffled: { truth: "outcomesMean", at: { experiments: WRONG } },
        }),
      ),
      state: DOG,
      question: {
        kind: "choose",
        truth: "hurtsMost",
        at: { experiments: { off: OFF, shuffled: WRONG } },
        options: ["off", "shuffled"],
      },
      values: {
        word: { truth: "finalWord" },
        share: { truth: "wordShare" },
        off: { truth: "outcomeShare", at: { experiment: OFF } },
        shuffled: { truth: "outcomesMean", at: { experiments: WRONG } },
        least: { truth: "outcomesLeast", at: { experiments: WRONG } },
        most: { truth: "outcomesMost", at: { experiments: WRONG } },
      },
    },
    {
      id: "convolution",
      figure: told(numbers(["linear", "slid"])),
      question: { kind: "choose", truth: "convolutionOrLinear", options: ["different", "same"] },
      values: { gap: { truth: "convolutionDifference" } },
    },
    {
      id: "order",
      figure: told(numbers(["linear", "mixed"])),
      question: { kind: "choose", truth: "orderMatters", options: ["same", "different", "error"] },
      values: { gap: { truth: "orderDifference" } },
    },
    {
      id: "gather",
      state: { layer: "last" },
      question: { kind: "number", truth: "halfOfAttention", min: 0, max: 144 },
      values: { most: { truth: "halfOfAttention" } },
      claim: { truth: "halfOfAttention", below: { truth: "patchCount", times: 1 / 3 } },
      reveal: { state: { overlay: "attention" }, shows: ["legend"] },
    },
    {
      id: "transfer",
      figure: PLACES,
      state: { model: "mnist", example: "digit" },
      question: { kind: "number", truth: "positionCount", min: 0, max: 400, worked: true },
    },
  ],
};
