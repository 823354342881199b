/** Lesson Why so much data: few digits, the same ones again, labels by lot, and what is not built in. */

import { bars, told } from "../figures.js";
import { recalled } from "../recalled.js";

const DIGIT = { model: "mnist", example: "digit" };
const BESIDE = { to: /** @type {[number, number]} */ ([0.54, 0.46]) };

/** @param {string} run @param {"right"|"own"} [of] */
const learned = (run, of = "right") => ({ truth: "learnedRight", at: { run, of } });
/** @param {string} run @param {"right"|"own"} [of] */
const asks = (run, of) => ({
  kind: /** @type {"number"} */ ("number"),
  ...learned(run, of),
  percent: true,
  min: 0,
  max: 1,
});
const [ALL, SOME, FEW, LONG] = ["all", "some", "few", "long"].map((run) => learned(run));
const COUNTS = { numbers: { truth: "learnedNumbers" } };

/** @type {import("../steps.js").Lesson} */
export const data = {
  id: "data",
  minutes: 10,
  ...DIGIT,
  recall: recalled("places"),
  steps: [
    {
      id: "few",
      figure: told(bars({ all: ALL, some: SOME, few: FEW }), bars({ all: ALL })),
      question: asks("few"),
      values: { all: ALL, some: SOME, ...COUNTS },
    },
    {
      id: "long",
      figure: told(bars({ ownDigits: learned("long", "own"), otherDigits: LONG }), bars({ few: FEW })),
      question: asks("long"),
      values: { few: FEW, own: learned("long", "own") },
    },
    {
      id: "lot",
      figure: told(bars({ ownDigits: learned("lot", "own"), otherDigits: learned("lot") })),
      question: asks("lot", "own"),
      values: { others: learned("lot"), ...COUNTS },
    },
    { id: "play", figure: "stage", play: "train_200" },
    {
      id: "built",
      figure: told(
        bars({
          untrained: { truth: "untrainedCosine", at: BESIDE },
          trained: { truth: "positionCosine", at: BESIDE },
        }),
      ),
      state: { model: "photos", example: "red-panda", token: [0.54, 0.54] },
      question: { kind: "choose", truth: "neighboursFrom", at: BESIDE, options: ["built", "learned"] },
      values: {
        before: { truth: "untrainedCosine", at: BESIDE },
        now: { truth: "positionCosine", at: BESIDE },
      },
    },
    {
      id: "transfer",
      figure: { before: bars({ some: SOME, all: ALL }) },
      state: DIGIT,
      question: { kind: "number", truth: "errorsLeft", percent: true, min: 0, max: 1, worked: true },
      values: { some: SOME, all: ALL },
    },
  ],
};
