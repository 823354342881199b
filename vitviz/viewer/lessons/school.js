/** Lesson Before and after school: the film of a training. */

const ABLE = 7; // a moment of the film
const MANY = 50; // times an even share

/** @type {import("./steps.js").Lesson} */
export const school = {
  id: "school", minutes: 8, model: "mnist", example: "digit",
  steps: [
    { id: "film" },
    { id: "start", question: { kind: "number", truth: "filmTop1", at: { moment: 0 }, percent: true, min: 0, max: 1 },
      values: { chance: { truth: "chance" } },
      claim: { truth: "filmTop1", at: { moment: 0 }, below: { truth: "chance", times: 1.5 } } },
    { id: "able", question: { kind: "number", truth: "filmTop1", at: { moment: ABLE }, percent: true, min: 0, max: 1 },
      values: { images: { truth: "filmImages", at: { moment: ABLE } } } },
    { id: "gaze", state: { panel: "training", moment: ABLE },
      question: { kind: "number", truth: "filmPeak", at: { moment: ABLE }, min: 0, max: MANY },
      values: { right: { truth: "filmTop1", at: { moment: ABLE } } },
      reveal: { shows: ["panel"] } },
    { id: "end", state: { panel: "training", moment: 0 }, shows: ["panel"] },
  ],
};
