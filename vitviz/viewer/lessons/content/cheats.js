/**
 * Lesson A model that cheats: a head that goes by a red square, praised by the pictures that were left out; and one
 * that was taught otherwise. vitviz/train/shortcut.py makes both.
 */

import { ANSWERS, bars, told } from "../figures.js";
import { recalled } from "../recalled.js";

const CHEATS = "red-square";
const MENDED = "red-square-mended";
const EIGHT = { model: CHEATS, example: "eight-square" };
const SQUARE = "remove_0";
const MIDDLE = "remove_CENTRE";
const COUNTS = {
  right: { truth: "leftOutRight" },
  of: { truth: "leftOut" },
  taught: { truth: "taughtPictures" },
};
const left = (experiment) => ({ truth: "outcomeShare", at: { experiment } });
const LEFT = { square: left(SQUARE), middle: left(MIDDLE) };
const OWN = { word: { truth: "finalWord" }, share: { truth: "wordShare" } };
const SAYS = {
  kind: /** @type {"choose"} */ ("choose"),
  truth: "digitSaid",
  options: ["3", "8", "other"],
};
const reveal = { state: { panel: "predictions" }, shows: ["panel"] };

/** @type {import("../steps.js").Lesson} */
export const cheats = {
  id: "cheats",
  minutes: 8,
  ...EIGHT,
  recall: recalled("patches"),
  figure: told(ANSWERS),
  steps: [
    { id: "taught", figure: "stage", values: COUNTS },
    {
      id: "eight",
      question: SAYS,
      values: { ...OWN, ...COUNTS },
      claim: { truth: "digitSaid", is: "3" },
      reveal,
    },
    {
      id: "where",
      late: true,
      figure: told(bars(LEFT)),
      question: {
        kind: "choose",
        truth: "hurtsMost",
        at: { experiments: { square: SQUARE, middle: MIDDLE } },
        options: ["square", "middle"],
      },
      values: {
        ...OWN,
        ...LEFT,
        now: { truth: "outcomeWord", at: { experiment: SQUARE } },
      },
      claim: { truth: "hurtsMost", at: { experiments: { square: SQUARE, middle: MIDDLE } }, is: "square" },
      reveal: { state: { experiment: SQUARE, beside: "experiment" }, shows: ["beside"] },
    },
    {
      id: "plain",
      state: { model: CHEATS, example: "three" },
      question: SAYS,
      values: OWN,
      claim: { truth: "digitSaid", is: "8" },
      reveal,
    },
    {
      id: "mend",
      figure: "stage",
      question: { kind: "choose", truth: "filled", options: ["more", "right", "longer"], worked: true },
    },
    {
      id: "mended",
      state: { ...EIGHT, model: MENDED },
      question: SAYS,
      values: { ...OWN, ...COUNTS },
      claim: { truth: "digitSaid", is: "8" },
      reveal,
    },
    {
      id: "transfer",
      state: { model: MENDED, example: "three" },
      question: SAYS,
      values: OWN,
      reveal,
    },
  ],
};
