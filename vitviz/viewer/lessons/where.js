/** Lesson Where am I?: positions are learned. */

const MIDDLE = /** @type {[number, number]} */ ([0.54, 0.54]);
const BESIDE = /** @type {[number, number]} */ ([0.54, 0.46]);
const CORNER = /** @type {[number, number]} */ ([0.01, 0.01]);

/** @type {import("./steps.js").Lesson} */
export const where = {
  id: "where", minutes: 8, model: "photos", example: "red-panda",
  steps: [
    { id: "bag", instead: { told: { id: "told" }, untold: { id: "untold" } } },
    {
      id: "cross", state: { token: MIDDLE }, marks: [[0.54, 0.21], [0.21, 0.54]],
      question: { kind: "choose", truth: "moreAlike", options: ["a", "b"] },
      values: { left: { truth: "positionCosine", at: { to: [0.54, 0.21] } }, up: { truth: "positionCosine", at: { to: [0.21, 0.54] } } },
      claim: { truth: "positionCosine", at: { to: [0.54, 0.21] }, above: { truth: "positionCosine", at: { to: [0.21, 0.54] } } },
      reveal: { state: { overlay: "positions" }, shows: ["legend"] },
      instead: { told: {
        id: "apart", state: { token: MIDDLE, layer: 0 }, marks: [BESIDE, CORNER],
        question: { kind: "choose", truth: "toldMore", options: ["a", "b"] },
        values: { near: { truth: "toldPlace", at: { to: BESIDE } }, far: { truth: "toldPlace", at: { to: CORNER } } },
        claim: { truth: "toldPlace", at: { to: BESIDE }, above: { truth: "toldPlace", at: { to: CORNER } } },
        reveal: { state: { panel: "positions", layer: 0 }, shows: ["panel"] },
      } },
    },
    {
      id: "paint", state: { token: [0.2, 0.2] },
      question: { kind: "patches", truth: "positionMap", count: 8 },
      reveal: { state: { overlay: "positions" }, shows: ["legend"] },
    },
    {
      id: "before", state: { token: MIDDLE }, marks: [[0.54, 0.46]],
      question: { kind: "number", truth: "untrainedCosine", at: { to: [0.54, 0.46] }, min: -1, max: 1 },
      values: { now: { truth: "positionCosine", at: { to: [0.54, 0.46] } } },
      claim: { truth: "untrainedCosine", at: { to: [0.54, 0.46] }, above: -0.25, below: 0.25 },
      reveal: { state: { panel: "positions" }, shows: ["panel"] },
    },
    {
      id: "corners", state: { model: "mnist", example: "digit", token: [0, 0] }, marks: [[0.99, 0.99]],
      question: { kind: "number", truth: "positionCosine", at: { to: [0.99, 0.99] }, min: -1, max: 1 },
      reveal: { state: { overlay: "positions" }, shows: ["legend"] },
    },
  ],
};
