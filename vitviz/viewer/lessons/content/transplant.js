/** Lesson The transplant: the CLS of one photo goes on among the patches of another. */

import { EXPERIMENT, curve, told } from "../figures.js";
import { recalled } from "../recalled.js";

const beside = "experiment";
const DONOR = "transplant_cls_END_example-dog"; // whose answer is that of the other photo
const GOLDFISH = { model: "photos", example: "goldfish" };
const BACK = "transplant_cls_END_example-goldfish";
const VALUES = { word: { truth: "finalWord" }, donor: { truth: "outcomeWord", at: { experiment: DONOR } } };
const WHOSE = {
  kind: /** @type {"choose"} */ ("choose"),
  truth: "whoseWord",
  at: { experiment: DONOR },
  options: ["own", "donor", "third"],
};

/** @type {import("../steps.js").Lesson} */
export const transplant = {
  id: "transplant",
  minutes: 8,
  ...GOLDFISH,
  recall: recalled("tokens"),
  figure: EXPERIMENT,
  steps: [
    {
      id: "two",
      figure: { before: EXPERIMENT.after },
      state: { ...GOLDFISH, beside: "example-dog" },
      values: { word: VALUES.word, share: { truth: "wordShare" } },
    },
    {
      id: "start",
      state: { ...GOLDFISH, experiment: "transplant_cls_0_example-dog", beside },
      question: { kind: "choose", truth: "sameNumbers", options: ["same", "different"] },
      values: VALUES,
      claim: { truth: "sameNumbers", is: "same" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "end",
      state: { ...GOLDFISH, experiment: DONOR, beside },
      question: WHOSE,
      values: VALUES,
      claim: { truth: "whoseWord", at: { experiment: DONOR }, is: "donor" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "patches",
      state: { ...GOLDFISH, experiment: "transplant_PATCHES_END_example-dog", beside },
      question: WHOSE,
      values: VALUES,
      claim: { truth: "whoseWord", at: { experiment: DONOR }, is: "own" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "turn",
      figure: told(
        curve("layers", { truth: "outcomeShare", at: { experiment: "transplant_cls_PLACE_example-dog" } }),
      ),
      late: true,
      question: {
        kind: "choose",
        truth: "firstTurn",
        at: { experiment: "transplant_cls_PLACE_example-dog" },
        options: "blocks",
      },
      values: VALUES,
      reveal: { state: { panel: "predictions" }, shows: ["panel"] },
    },
    {
      id: "transfer",
      state: { model: "photos", example: "red-panda", experiment: BACK, beside },
      question: { ...WHOSE, at: { experiment: BACK } },
      values: { word: VALUES.word, donor: { truth: "outcomeWord", at: { experiment: BACK } } },
      claim: { truth: "whoseWord", at: { experiment: BACK }, is: "donor" },
      reveal: { shows: ["beside"] },
    },
  ],
};
