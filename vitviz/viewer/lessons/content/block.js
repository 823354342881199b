/** Lesson The rest of a block: sums, norms and the MLP, around attention. */

import { NORMED, numbers, told } from "../figures.js";
import { recalled } from "../recalled.js";

const STATE = { panel: "qk", layer: 2, head: 0, token: [0.37, 0.45], partner: "strongest" };
const PARTS = ["before", "change"];
const SUM = told(numbers(PARTS, { change: { truth: "changeOfToken" } }), numbers(PARTS));

/** @type {import("../steps.js").Lesson} */
export const block = {
  id: "block",
  minutes: 8,
  model: "photos",
  example: "red-panda",
  recall: recalled("joined"),
  figure: SUM,
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
      figure: told(numbers(["before", "after"], { after: { truth: "keptDirection" } }), SUM.before),
      state: STATE,
      question: { kind: "number", truth: "keptDirection", min: -1, max: 1 },
      claim: { truth: "keptDirection", above: 0.5 },
    },
    {
      id: "norm",
      figure: told(NORMED, numbers(["before"])),
      state: STATE,
      values: { before: { truth: "tokenLength" } },
      question: { kind: "choose", truth: "normOfTwice", options: ["twice", "same", "half"], worked: true },
    },
    {
      id: "line",
      figure: "code",
      state: STATE,
      code: "block",
      question: {
        kind: "choose",
        truth: "filled",
        options: ["no_sum", "norm_after", "no_norm", "right"],
        worked: true,
      },
    },
    { id: "end", figure: "panel", state: STATE, shows: ["panel"] },
    {
      id: "transfer",
      state: { ...STATE, model: "photos", example: "cat" },
      values: { before: { truth: "tokenLength" }, change: { truth: "changeLength" } },
      question: { kind: "number", truth: "changeOfToken", percent: true, min: 0, max: 2, worked: true },
    },
  ],
};
