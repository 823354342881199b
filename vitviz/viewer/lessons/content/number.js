/** Lesson One number by hand: from two rows of numbers to one share of attention. */

import { recalled } from "../recalled.js";

const STATE = { panel: "qk", layer: 1, head: 2, token: [0.37, 0.45], partner: "strongest" };
const SUM = { truth: "dotProduct" };
const SCORE = { truth: "score" };

/** @type {import("../steps.js").Lesson} */
export const number = {
  id: "number",
  minutes: 10,
  model: "photos",
  example: "red-panda",
  recall: recalled("even"),
  steps: [
    { id: "ask", state: STATE, shows: ["panel"], values: { sum: SUM } },
    {
      id: "score",
      state: STATE,
      values: { sum: SUM },
      question: { kind: "number", truth: "score", min: -10, max: 20, worked: true },
      reveal: { shows: ["panel"] },
    },
    {
      id: "power",
      state: STATE,
      values: { score: SCORE, power: { truth: "scorePower" }, total: { truth: "scoreTotal" } },
      question: { kind: "number", truth: "pairShare", percent: true, min: 0, max: 1, worked: true },
      reveal: { shows: ["panel"] },
    },
    {
      id: "raise",
      state: STATE,
      values: { score: SCORE, share: { truth: "pairShare" } },
      question: { kind: "choose", truth: "raisedOthers", options: ["grow", "stay", "shrink"], worked: true },
    },
    {
      id: "raised",
      state: STATE,
      values: { score: SCORE, share: { truth: "pairShare" } },
      question: { kind: "number", truth: "raisedShare", percent: true, min: 0, max: 1, worked: true },
    },
    { id: "end", state: { ...STATE, overlay: "attention" }, shows: ["panel", "legend"] },
    {
      id: "transfer",
      state: { ...STATE, model: "photos", example: "dog", layer: 2, head: 0 },
      values: { score: SCORE, power: { truth: "scorePower" }, total: { truth: "scoreTotal" } },
      question: { kind: "number", truth: "pairShare", percent: true, min: 0, max: 1, worked: true },
      reveal: { shows: ["panel"] },
    },
  ],
};
