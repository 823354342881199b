/** Lesson Take the positions away: two models that learned the same digits, one of them without places; then a third, in the playground. */

import { recalled } from "./recalled.js";

const TOLD = { model: "mnist", example: "digit" };
const UNTOLD = { model: "mnist-none", example: "digit" };
const RIGHT = { right: { truth: "testedRight" } };

/** @type {import("./steps.js").Lesson} */
export const taken = {
  id: "taken", minutes: 5, ...TOLD,
  recall: recalled("places"),
  steps: [
    { id: "told", state: TOLD, values: RIGHT },
    { id: "guess", state: UNTOLD, question: { kind: "number", truth: "testedRight", percent: true, min: 0, max: 1 },
      claim: { truth: "testedRight", above: { truth: "chance", times: 5 } } },
    { id: "play", state: UNTOLD, play: "positions_none" },
  ],
};
