/** Lesson What it cannot know: a model has a word only for what it was taught. */

import { ANSWERS, told } from "../figures.js";
import { recalled } from "../recalled.js";

const DIGIT = { model: "photos", example: "digit" };
const CAT = { model: "mnist", example: "cat" };
const KIND = {
  kind: /** @type {"choose"} */ ("choose"),
  truth: "answerKind",
  options: ["named", "unsure", "none"],
};

/** @type {import("../steps.js").Lesson} */
export const unknown = {
  id: "unknown",
  minutes: 6,
  ...DIGIT,
  recall: recalled("patches"),
  figure: told(ANSWERS),
  steps: [
    { id: "words", figure: "stage", state: DIGIT },
    {
      id: "digit",
      state: { ...DIGIT, panel: "predictions" },
      question: KIND,
      values: { name: { truth: "answerName" }, share: { truth: "answerShare" } },
      claim: { truth: "answerKind", is: "named" },
      reveal: { shows: ["panel"] },
    },
    {
      id: "photo",
      state: { ...CAT, panel: "predictions" },
      question: { kind: "number", truth: "answerShare", percent: true, min: 0, max: 1 },
      values: { name: { truth: "answerName" } },
      claim: { truth: "answerShare", above: 0.8 },
      reveal: { shows: ["panel"] },
    },
    {
      id: "sum",
      state: CAT,
      question: { kind: "number", truth: "sumOfClasses", percent: true, min: 0, max: 2, worked: true },
      reveal: { state: { panel: "predictions" }, shows: ["panel"] },
    },
    {
      id: "transfer",
      state: { ...CAT, example: "coffee", panel: "predictions" },
      question: KIND,
      values: { name: { truth: "answerName" }, share: { truth: "answerShare" } },
      reveal: { shows: ["panel"] },
    },
  ],
};
