/** Lesson How it learns: the loss of an answer, which way it pushes, and one step of a training. */

import { ANSWERS, curve, pair, told } from "../figures.js";
import { recalled } from "../recalled.js";

const STATE = { panel: "predictions" };
const WORD = { word: { truth: "finalWord" }, share: { truth: "wordShare" } };
const LOST = { truth: "lossOfGiven" };
const LOSS = told(curve("shares", LOST, { at: WORD.share }));

/** @type {import("../steps.js").Lesson} */
export const learn = {
  id: "learn",
  minutes: 10,
  model: "photos",
  example: "red-panda",
  recall: recalled("others"),
  figure: LOSS,
  steps: [
    {
      id: "loss",
      state: STATE,
      values: WORD,
      question: { kind: "number", truth: "lossOfWord", min: 0, max: 5, worked: true },
    },
    {
      id: "guess",
      figure: told(curve("shares", LOST, { at: { truth: "chance" } })),
      state: STATE,
      values: { chance: { truth: "chance" } },
      question: { kind: "number", truth: "lossOfChance", min: 0, max: 10, worked: true },
    },
    {
      id: "push",
      figure: told(ANSWERS),
      state: STATE,
      values: WORD,
      question: { kind: "number", truth: "pushOfWord", min: -1, max: 1, worked: true },
    },
    {
      id: "which",
      figure: { before: pair([WORD.share], [{ truth: "shareBeside" }]) },
      state: { ...STATE, beside: "example-cat" },
      values: { ...WORD, other: { truth: "shareBeside" } },
      question: { kind: "choose", truth: "morePushed", options: ["this", "beside"] },
    },
    {
      id: "line",
      figure: "code",
      state: STATE,
      code: "step",
      values: { temperature: { truth: "temperature" } },
      question: {
        kind: "choose",
        truth: "filled",
        options: ["softmax_twice", "right", "no_slope"],
        worked: true,
      },
    },
    { id: "end", figure: "stage", state: STATE },
    {
      id: "transfer",
      state: { ...STATE, model: "photos", example: "coffee" },
      values: WORD,
      question: { kind: "number", truth: "lossOfWord", min: 0, max: 5, worked: true },
    },
  ],
};
