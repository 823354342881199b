/** Lesson Where am I?: positions are learned. */

import { EXPERIMENT, maps, told } from "../figures.js";
import { recalled } from "../recalled.js";

const MIDDLE = /** @type {[number, number]} */ ([0.54, 0.54]);
const BESIDE = /** @type {[number, number]} */ ([0.54, 0.46]);
const CORNER = /** @type {[number, number]} */ ([0.01, 0.01]);
const beside = "experiment";
const HEAP = { experiment: "shuffle_1_3", beside };

/** @type {import("../steps.js").Lesson} */
export const where = {
  id: "where",
  minutes: 8,
  model: "photos",
  example: "red-panda",
  recall: recalled("patches"),
  figure: "stage",
  steps: [
    { id: "bag", instead: { told: { id: "told" }, untold: { id: "untold" } } },
    {
      id: "cross",
      state: { token: MIDDLE },
      marks: [
        [0.54, 0.21],
        [0.21, 0.54],
      ],
      question: { kind: "choose", truth: "moreAlike", options: ["a", "b"] },
      values: {
        left: { truth: "positionCosine", at: { to: [0.54, 0.21] } },
        up: { truth: "positionCosine", at: { to: [0.21, 0.54] } },
      },
      claim: {
        truth: "positionCosine",
        at: { to: [0.54, 0.21] },
        above: { truth: "positionCosine", at: { to: [0.21, 0.54] } },
      },
      reveal: { state: { overlay: "positions" }, shows: ["legend"] },
      instead: {
        told: {
          id: "apart",
          figure: told(maps({ here: { truth: "toldMap" } })),
          state: { token: MIDDLE, layer: 0 },
          marks: [BESIDE, CORNER],
          question: { kind: "choose", truth: "toldMore", options: ["a", "b"] },
          values: {
            near: { truth: "toldPlace", at: { to: BESIDE } },
            far: { truth: "toldPlace", at: { to: CORNER } },
          },
          claim: {
            truth: "toldPlace",
            at: { to: BESIDE },
            above: { truth: "toldPlace", at: { to: CORNER } },
          },
          reveal: { state: { panel: "positions", layer: 0 }, shows: ["panel"] },
        },
        untold: {
          id: "mixed",
          figure: EXPERIMENT,
          state: HEAP,
          question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
          values: {
            word: { truth: "finalWord" },
            share: { truth: "wordShare" },
            now: { truth: "otherWord" },
          },
          claim: { truth: "sameWord", is: "same" },
          reveal: { shows: ["beside"] },
        },
      },
    },
    {
      id: "paint",
      state: { token: [0.2, 0.2] },
      question: { kind: "patches", truth: "positionMap", count: 8 },
      reveal: { state: { overlay: "positions" }, shows: ["legend"] },
      instead: {
        told: {
          id: "ring",
          state: { token: [0.2, 0.2], layer: 0 },
          question: { kind: "patches", truth: "toldMap", count: 8 },
          reveal: { state: { overlay: "positions" }, shows: ["legend"] },
        },
        untold: {
          id: "heap",
          figure: EXPERIMENT,
          state: HEAP,
          question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
          values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
          reveal: { shows: ["beside"] },
        },
      },
    },
    {
      id: "before",
      figure: told(maps({ untrained: { truth: "untrainedMap" }, trained: { truth: "positionMap" } })),
      state: { token: MIDDLE },
      marks: [[0.54, 0.46]],
      question: { kind: "number", truth: "untrainedCosine", at: { to: [0.54, 0.46] }, min: -1, max: 1 },
      values: { now: { truth: "positionCosine", at: { to: [0.54, 0.46] } } },
      claim: { truth: "untrainedCosine", at: { to: [0.54, 0.46] }, above: -0.25, below: 0.25 },
      reveal: { state: { panel: "positions" }, shows: ["panel"] },
      instead: {
        told: {
          id: "taken",
          figure: EXPERIMENT,
          state: { experiment: "positions_off_0", beside },
          question: { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 },
          values: { word: { truth: "finalWord" }, share: { truth: "wordShare" } },
          reveal: { shows: ["beside"] },
        },
        untold: { id: "alike", figure: "panel", state: { panel: "model" }, shows: ["panel"] },
      },
    },
    {
      id: "corners",
      state: { model: "mnist", example: "digit", token: [0, 0] },
      marks: [[0.99, 0.99]],
      question: { kind: "number", truth: "positionCosine", at: { to: [0.99, 0.99] }, min: -1, max: 1 },
      values: { near: { truth: "positionCosine", at: { to: [0, 0.2] } } },
      claim: {
        truth: "positionCosine",
        at: { to: [0.99, 0.99] },
        below: { truth: "positionCosine", at: { to: [0, 0.2] }, times: 0.5 },
      },
      reveal: { state: { overlay: "positions" }, shows: ["legend"] },
    },
  ],
};
