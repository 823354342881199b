/** Lesson One number by hand: from two rows of numbers to one share of attention. */

import { RAISED, numbers, told } from "../figures.js";
import { recalled } from "../recalled.js";

const STATE = { panel: "qk", layer: 1, head: 2, token: [0.37, 0.45], partner: "strongest" };
const SUM = { truth: "dotProduct" };
const SCORE = { truth: "score" };
const PRODUCTS = ["q", "k", "products"];
const SUMMED = { before: numbers(PRODUCTS, { products: SUM }) };
/** @type {import("../figures.js").Figure} */
const ROW = told({ kind: "row", of: "attention" }, { kind: "row", of: "scores" });

/** @type {import("../steps.js").Lesson} */
export const number = {
  id: "number",
  minutes: 10,
  model: "photos",
  example: "red-panda",
  recall: recalled("even"),
  figure: SUMMED,
  steps: [
    { id: "ask", state: STATE, shows: ["panel"], values: { sum: SUM } },
    {
      id: "score",
      figure: told(numbers(PRODUCTS, { products: SCORE }), SUMMED.before),
      state: STATE,
      values: { sum: SUM },
      question: { kind: "number", truth: "score", min: -10, max: 20, worked: true },
      reveal: { shows: ["panel"] },
    },
    {
      id: "power",
      figure: ROW,
      state: STATE,
      values: { score: SCORE, power: { truth: "scorePower" }, total: { truth: "scoreTotal" } },
      question: { kind: "number", truth: "pairShare", percent: true, min: 0, max: 1, worked: true },
      reveal: { shows: ["panel"] },
    },
    {
      id: "raise",
      figure: RAISED,
      state: STATE,
      values: { score: SCORE, share: { truth: "pairShare" } },
      question: { kind: "choose", truth: "raisedOthers", options: ["grow", "stay", "shrink"], worked: true },
    },
    {
      id: "raised",
      figure: RAISED,
      state: STATE,
      values: { score: SCORE, share: { truth: "pairShare" } },
      question: { kind: "number", truth: "raisedShare", percent: true, min: 0, max: 1, worked: true },
    },
    { id: "end", figure: "panel", state: { ...STATE, overlay: "attention" }, shows: ["panel", "legend"] },
    {
      id: "transfer",
      figure: ROW,
      state: { ...STATE, model: "photos", example: "dog", layer: 2, head: 0 },
      values: { score: SCORE, power: { truth: "scorePower" }, total: { truth: "scoreTotal" } },
      question: { kind: "number", truth: "pairShare", percent: true, min: 0, max: 1, worked: true },
      reveal: { shows: ["panel"] },
    },
  ],
};
