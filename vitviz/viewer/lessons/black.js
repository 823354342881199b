/** Lesson A black patch is not a missing patch: three ways to hide the middle of a photo. */

const beside = "experiment";
const PANDA = { model: "photos", example: "red-panda" };
const GOLDFISH = { model: "photos", example: "goldfish" };

/** @type {import("./steps.js").Lesson} */
export const black = {
  id: "black", minutes: 7, ...PANDA,
  steps: [
    { id: "hide", values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } } },
    { id: "out", state: { ...PANDA, experiment: "remove_CENTRE", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
      claim: { truth: "otherShare", above: 0.5 }, reveal: { shows: ["beside"] } },
    { id: "mean", state: { ...PANDA, experiment: "replace_CENTRE_mean_0", beside },
      question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
      values: { word: { truth: "finalWord" } },
      claim: { truth: "otherShare", below: { truth: "wordShare", times: 0.9 } }, reveal: { shows: ["beside"] } },
    { id: "painted", state: { ...GOLDFISH, experiment: "replace_CENTRE_mean_0", beside },
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, now: { truth: "otherWord" } },
      claim: { truth: "sameWord", is: "other" }, reveal: { shows: ["beside"] } },
    { id: "black", state: { ...GOLDFISH, experiment: "replace_CENTRE_black_0", beside },
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { word: { truth: "finalWord" }, now: { truth: "otherWord" } }, reveal: { shows: ["beside"] } },
  ],
};
