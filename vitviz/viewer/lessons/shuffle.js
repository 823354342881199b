/** Lesson Shuffle the jigsaw: what a model still knows when its patches are mixed, or their places are gone. */

const beside = "experiment";
// After every second draw the goldfish is still one, with a third of its share; after this one it is a banana.
const SHUFFLED = "shuffle_1_3";
const MIXED = { experiment: SHUFFLED, beside };
const GOLDFISH = { model: "photos", example: "goldfish" };

/** @type {import("./steps.js").Lesson} */
export const shuffle = {
  id: "shuffle", minutes: 8, model: "photos", example: "red-panda",
  steps: [
    { id: "jigsaw" },
    { id: "panda", state: MIXED, question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" }, now: { truth: "otherWord" } },
      claim: { truth: "sameWord", is: "same" }, reveal: { shows: ["beside"] } },
    { id: "fish", state: { ...GOLDFISH, ...MIXED }, question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" }, now: { truth: "otherWord" } },
      claim: { truth: "sameWord", is: "other" }, reveal: { shows: ["beside"] } },
    { id: "off", state: { experiment: "positions_off_0", beside }, question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
      claim: { truth: "otherShare", above: 0.5 }, reveal: { shows: ["beside"] } },
    { id: "both", state: { experiment: "positions_off_0*" + SHUFFLED, beside }, question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" } }, reveal: { shows: ["beside"] } },
  ],
};
