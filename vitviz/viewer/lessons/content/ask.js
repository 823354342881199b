/** Lesson Ask a patch, ask its heads: each patch asks for itself, and each head asks something else. */

import { maps, told } from "../figures.js";
import { recalled } from "../recalled.js";

const FOREHEAD = /** @type {[number, number]} */ ([0.37, 0.45]);
const BRANCH = /** @type {[number, number]} */ ([0.87, 0.12]);
const EARLY = { layer: 2, head: 0 };
const MEANS = { layer: 2, head: /** @type {"mean"} */ ("mean") }; // a mean is compared with means
const MAP = { truth: "attentionMap" };
/**
 * Maps of the heads, after the guess with the distances that are asked about.
 * @type {import("../figures.js").Figure}
 */
const HEADS = told({ kind: "maps", of: MAP, note: { truth: "headDistance" } }, { kind: "maps", of: MAP });

/** @type {import("../steps.js").Lesson} */
export const ask = {
  id: "ask",
  minutes: 12,
  model: "photos",
  example: "red-panda",
  recall: recalled("tokens"),
  figure: "stage",
  steps: [
    { id: "share", state: { ...EARLY, token: FOREHEAD } },
    {
      id: "tap",
      state: { ...EARLY, token: FOREHEAD },
      question: { kind: "patch", truth: "attentionMap" },
      values: { steps: { truth: "strongestDistance" } },
      claim: { truth: "strongestDistance", above: 0, below: 3 },
      reveal: { state: { overlay: "attention" }, shows: ["legend"] },
    },
    {
      id: "paint",
      state: { ...EARLY, token: BRANCH },
      question: { kind: "patches", truth: "attentionMap", count: 6 },
      reveal: { state: { overlay: "attention" }, shows: ["legend"] },
    },
    {
      id: "common",
      figure: told(maps({ A: MAP, B: { ...MAP, at: { token: BRANCH } } })),
      state: { ...EARLY, token: FOREHEAD, partner: BRANCH },
      marks: [FOREHEAD, BRANCH],
      question: { kind: "number", truth: "overlapOfPair", percent: true, min: 0, max: 1 },
      claim: { truth: "overlapOfPair", below: 0.5 },
      reveal: { state: { overlay: "attention" }, shows: ["legend"] },
    },
    {
      id: "late",
      figure: told(
        maps({
          earlyA: { ...MAP, at: MEANS },
          earlyB: { ...MAP, at: { ...MEANS, token: BRANCH } },
          lateA: MAP,
          lateB: { ...MAP, at: { token: BRANCH } },
        }),
      ),
      state: { layer: "last", head: "mean", token: FOREHEAD, partner: BRANCH },
      marks: [FOREHEAD, BRANCH],
      question: { kind: "number", truth: "overlapOfPair", percent: true, min: 0, max: 1 },
      values: {
        early: { truth: "overlapOfPair", at: MEANS },
        start: { truth: "overlapOfPair", at: { ...MEANS, layer: 0 } },
      },
      claim: { truth: "overlapOfPair", above: { truth: "overlapOfPair", at: MEANS, times: 1.5 } },
      reveal: { state: { overlay: "attention" }, shows: ["legend"] },
    },
    {
      id: "heads",
      figure: HEADS,
      state: { panel: "attention", layer: 1, head: 0, token: FOREHEAD },
      shows: ["panel", "head"],
      question: { kind: "choose", truth: "nearestHead", options: "heads" },
      reveal: { state: { overlay: "attention" }, shows: ["panel", "head", "legend"] },
    },
    {
      id: "end",
      state: { panel: "attention", overlay: "attention", ...EARLY, token: FOREHEAD },
      shows: ["panel", "layer", "head", "legend", "readout"],
    },
    {
      id: "transfer",
      figure: HEADS,
      state: { model: "photos", example: "dog", panel: "attention", layer: 1, head: 0, token: FOREHEAD },
      shows: ["panel", "head"],
      question: { kind: "choose", truth: "nearestHead", options: "heads" },
      claim: { truth: "nearestHead", is: "5" },
      reveal: { state: { overlay: "attention" }, shows: ["panel", "head", "legend"] },
    },
  ],
};
