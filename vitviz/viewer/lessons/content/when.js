/** Lesson When does it know?: what the model would answer after every block. */

import { recalled } from "../recalled.js";

/** @type {import("../steps.js").Lesson} */
export const when = {
  id: "when",
  minutes: 8,
  model: "photos",
  example: "dog",
  recall: recalled("tokens"),
  steps: [
    { id: "lens", values: { answer: { truth: "finalWord" } } },
    {
      id: "first",
      state: { layer: 0 },
      question: { kind: "number", truth: "lensShare", percent: true, min: 0, max: 1 },
      values: { answer: { truth: "finalWord" }, end: { truth: "lensShare", at: { layer: "last" } } },
    },
    {
      id: "word",
      state: { layer: 0 },
      question: { kind: "choose", truth: "firstWordKind", options: ["final", "other"] },
      values: { word: { truth: "firstWord" }, answer: { truth: "finalWord" } },
      claim: { truth: "firstWordKind", is: "other" },
    },
    {
      id: "prejudice",
      state: { layer: 0, beside: "example-goldfish" },
      question: { kind: "choose", truth: "sameFirstWord", options: ["same", "different"] },
      values: { word: { truth: "firstWord" } },
      claim: { truth: "sameFirstWord", is: "same" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "turn",
      state: { panel: "predictions" },
      question: { kind: "choose", truth: "firstLead", options: "blocks" },
      values: { answer: { truth: "finalWord" } },
      reveal: { shows: ["panel"] },
    },
    {
      id: "transfer",
      state: { model: "photos", example: "cat", panel: "predictions" },
      question: { kind: "choose", truth: "firstLead", options: "blocks" },
      values: { answer: { truth: "finalWord" } },
      reveal: { shows: ["panel"] },
    },
  ],
};
