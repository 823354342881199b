/** Lesson The rest of a block: sums, norms and the MLP, around attention. */

import { recalled } from "../recalled.js";

const STATE = { panel: "qk", layer: 2, head: 0, token: [0.37, 0.45], partner: "strongest" };

/** @type {import("../steps.js").Lesson} */
export const block = {
  id: "block",
  minutes: 8,
  model: "photos",
  example: "red-panda",
  recall: recalled("joined"),
  steps: [
    {
      id: "sum",
      state: STATE,
      values: { before: { truth: "tokenLength" }, change: { truth: "changeLength" } },
      question: { kind: "number", truth: "changeOfToken", percent: true, min: 0, max: 2, worked: true },
      claim: { truth: "changeOfToken", below: 1 },
    },
    {
      id: "kept",
      state: STATE,
      question: { kind: "number", truth: "keptDirection", min: -1, max: 1 },
      claim: { truth: "keptDirection", above: 0.5 },
    },
    {
      id: "norm",
      state: STATE,
      values: { before: { truth: "tokenLength" } },
      question: { kind: "choose", truth: "normOfTwice", options: ["twice", "same", "half"], worked: true },
    },
    {
      id: "line",
      state: STATE,
      code: "block",
      question: {
        kind: "choose",
        truth: "filled",
        options: ["no_sum", "norm_after", "no_norm", "right"],
        worked: true,
      },
    },
    { id: "end", state: STATE, shows: ["panel"] },
    {
      id: "transfer",
      state: { ...STATE, model: "photos", example: "cat" },
      values: { before: { truth: "tokenLength" }, change: { truth: "changeLength" } },
      question: { kind: "number", truth: "changeOfToken", percent: true, min: 0, max: 2, worked: true },
    },
  ],
};
