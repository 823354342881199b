/** Lesson Cut: a photo becomes rows of numbers. */

import { bars, told } from "../figures.js";

/** @type {import("../steps.js").Lesson} */
export const cut = {
  id: "cut",
  minutes: 6,
  model: "photos",
  example: "dog",
  figure: "stage",
  steps: [
    {
      id: "frame",
      figure: "photo",
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
      figure: told(
        bars({ patch: { truth: "patchNumbers" }, token: { truth: "tokenNumbers" } }),
        bars({ patch: { truth: "patchNumbers" } }),
      ),
      state: { token: [0.35, 0.45] },
      question: { kind: "choose", truth: "tokenWidth", options: ["fewer", "same", "more"] },
    },
    { id: "tokens", question: { kind: "number", truth: "tokenCount", min: 0, max: 400, worked: true } },
    {
      id: "end",
      figure: "panel",
      shows: ["panel", "readout"],
      state: { panel: "patches", token: [0.35, 0.45] },
    },
    {
      id: "transfer",
      state: { model: "mnist", example: "digit" },
      question: { kind: "number", truth: "patchNumbers", min: 0, max: 400, worked: true },
    },
  ],
};
