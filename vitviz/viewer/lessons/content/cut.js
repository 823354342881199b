/** Lesson Cut: a photo becomes rows of numbers. */

/** @type {import("../steps.js").Lesson} */
export const cut = {
  id: "cut",
  minutes: 6,
  model: "photos",
  example: "dog",
  steps: [
    {
      id: "frame",
      shows: ["photo"],
      question: { kind: "number", truth: "unseen", percent: true, min: 0, max: 1, worked: true },
    },
    { id: "pixels", values: { all: { truth: "pixelNumbers" } } },
    { id: "patches", question: { kind: "number", truth: "patchCount", min: 0, max: 400, worked: true } },
    {
      id: "numbers",
      state: { token: [0.35, 0.45] },
      question: { kind: "number", truth: "patchNumbers", min: 0, max: 400, worked: true },
    },
    {
      id: "width",
      state: { token: [0.35, 0.45] },
      question: { kind: "choose", truth: "tokenWidth", options: ["fewer", "same", "more"] },
    },
    { id: "tokens", question: { kind: "number", truth: "tokenCount", min: 0, max: 400, worked: true } },
    { id: "end", shows: ["panel", "readout"], state: { panel: "patches", token: [0.35, 0.45] } },
    {
      id: "transfer",
      state: { model: "mnist", example: "digit" },
      question: { kind: "number", truth: "patchNumbers", min: 0, max: 400, worked: true },
    },
  ],
};
