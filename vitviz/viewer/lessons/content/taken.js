/**
 * Lesson Take the positions away: two models that learned the same digits, one of them without places; then a
 * third, in the playground, and one that is told places otherwise.
 */

import { bars, told } from "../figures.js";
import { recalled } from "../recalled.js";

const TOLD = { model: "mnist", example: "digit" };
const UNTOLD = { model: "mnist-none", example: "digit" };
const TURNED = { model: "mnist-rotary", example: "digit" };
const SHARE = {
  kind: /** @type {"number"} */ ("number"),
  truth: "testedRight",
  percent: true,
  min: 0,
  max: 1,
};
const RIGHT = { right: { truth: "testedRight" } };

/** @type {import("../steps.js").Lesson} */
export const taken = {
  id: "taken",
  minutes: 5,
  ...TOLD,
  recall: recalled("places"),
  figure: told(bars({ chance: { truth: "chance" }, right: { truth: "testedRight" } })),
  steps: [
    { id: "told", figure: "stage", state: TOLD, values: RIGHT },
    {
      id: "guess",
      state: UNTOLD,
      question: SHARE,
      claim: { truth: "testedRight", above: { truth: "chance", times: 5 } },
    },
    { id: "play", figure: "stage", state: UNTOLD, play: "positions_none" },
    { id: "transfer", state: TURNED, question: SHARE, claim: { truth: "testedRight", above: 0.95 } },
  ],
};
