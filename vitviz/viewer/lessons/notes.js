/** Lesson What study notes ask: four questions from notes about Vision Transformers, answered by measuring. */

/** @type {import("./steps.js").Lesson} */
export const notes = {
  id: "notes", minutes: 10, model: "photos", example: "red-panda",
  steps: [
    { id: "class", state: { beside: "example-dog" },
      question: { kind: "choose", truth: "classAtStart", options: ["different", "same"] } },
    { id: "length", question: { kind: "number", truth: "positionCount", min: 0, max: 400 } },
    { id: "convolution", question: { kind: "choose", truth: "convolutionOrLinear", options: ["different", "same"] },
      values: { gap: { truth: "convolutionDifference" } } },
    { id: "gather", state: { layer: "last" }, question: { kind: "number", truth: "halfOfAttention", min: 0, max: 144 },
      values: { most: { truth: "halfOfAttention" } },
      claim: { truth: "halfOfAttention", below: { truth: "patchCount", times: 1 / 3 } },
      reveal: { state: { overlay: "attention" }, shows: ["legend"] } },
  ],
};
