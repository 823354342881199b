/** Lesson When does it know?: what the model would answer after every block. */

import { bars, curve, pair, told } from "../figures.js";
import { recalled } from "../recalled.js";
const WORD = { truth: "firstWord" };
const SHARE = { truth: "lensShare" };
const TURN = told(curve("layers", SHARE));

/** @type {import("../steps.js").Lesson} */
export const when = {
  id: "when",
  minutes: 8,
  model: "photos",
  example: "dog",
  recall: recalled("tokens"),
  figure: TURN,
  steps: [
    { id: "lens", figure: "stage", values: { answer: { truth: "finalWord" } } },
    {
      id: "first",
      figure: told(bars({ first: SHARE, end: { ...SHARE, at: { layer: "last" } } })),
      state: { layer: 0 },
      question: { kind: "number", truth: "lensShare", percent: true, min: 0, max: 1 },
      values: { answer: { truth: "finalWord" }, end: { truth: "lensShare", at: { layer: "last" } } },
    },
    {
      id: "word",
      figure: told(bars({ first: WORD, end: { truth: "finalWord" } })),
      state: { layer: 0 },
      question: { kind: "choose", truth: "firstWordKind", options: ["final", "other"] },
      values: { word: { truth: "firstWord" }, answer: { truth: "finalWord" } },
      claim: { truth: "firstWordKind", is: "other" },
    },
    {
      id: "prejudice",
      figure: told(pair([WORD], [{ truth: "firstWordBeside" }]), pair([WORD], [])),
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
