/** Lesson Before and after school: the film of a training. */

import { bars, curve, told } from "../figures.js";
import { recalled } from "../recalled.js";

const ABLE = 7; // a moment of the film
const FEW = 3; // a moment of the other film, after nearly as many pictures
const SHARP = 6; // the moment when CLS looks at one patch most
const MANY = 50; // times an even share

/** @type {import("../steps.js").Lesson} */
export const school = {
  id: "school",
  minutes: 8,
  model: "mnist",
  example: "digit",
  recall: recalled("patches"),
  figure: told(curve("moments", { truth: "filmTop1" })),
  steps: [
    { id: "film", figure: "stage" },
    {
      id: "start",
      figure: told(bars({ chance: { truth: "chance" }, right: { truth: "filmTop1", at: { moment: 0 } } })),
      question: { kind: "number", truth: "filmTop1", at: { moment: 0 }, percent: true, min: 0, max: 1 },
      values: { chance: { truth: "chance" } },
      claim: { truth: "filmTop1", at: { moment: 0 }, below: { truth: "chance", times: 1.5 } },
      reveal: { state: { panel: "training", moment: 0 }, shows: ["panel"] },
    },
    {
      id: "able",
      question: { kind: "number", truth: "filmTop1", at: { moment: ABLE }, percent: true, min: 0, max: 1 },
      values: { images: { truth: "filmImages", at: { moment: ABLE } } },
      reveal: { state: { panel: "training", moment: ABLE }, shows: ["panel"] },
    },
    {
      id: "gaze",
      figure: told(curve("moments", { truth: "filmPeak" })),
      state: { panel: "training", moment: SHARP },
      shows: ["panel"],
      question: { kind: "number", truth: "filmPeak", at: { moment: "last" }, min: 0, max: MANY },
      values: {
        right: { truth: "filmTop1", at: { moment: SHARP } },
        peak: { truth: "filmPeak", at: { moment: SHARP } },
        end: { truth: "filmTop1", at: { moment: "last" } },
      },
      claim: {
        truth: "filmPeak",
        at: { moment: "last" },
        below: { truth: "filmPeak", at: { moment: SHARP }, times: 0.8 },
      },
      reveal: { state: { moment: "last" }, shows: ["panel"] },
    },
    { id: "end", figure: "panel", state: { panel: "training", moment: 0 }, shows: ["panel"] },
    {
      id: "transfer",
      state: { model: "photos", example: "red-panda" },
      question: { kind: "number", truth: "filmTop1", at: { moment: FEW }, percent: true, min: 0, max: 1 },
      values: { images: { truth: "filmImages", at: { moment: FEW } }, chance: { truth: "chance" } },
      claim: { truth: "filmTop1", at: { moment: FEW }, below: 0.5 },
      reveal: { state: { panel: "training", moment: FEW }, shows: ["panel"] },
    },
  ],
};
