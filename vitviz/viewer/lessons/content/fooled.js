/**
 * Lesson Fooled: the smallest change that turns an answer, noise of the same size, and where inside the change
 * sits. Step "others" rests on arXiv:1312.6199 (one picture fools several networks), arXiv:1412.6572 (many small
 * effects add up), and arXiv:1706.06083 and arXiv:1805.12152 (training with such pictures, and its price).
 */

import { EXPERIMENT, bars, curve, told } from "../figures.js";
import { recalled } from "../recalled.js";

const beside = "experiment";
const GOLDFISH = { model: "photos", example: "goldfish" };
const LEVELS = { one: "perturb_away_1_8_0", four: "perturb_away_4_8_0", eight: "perturb_away_8_8_0" };
const CHANGED = LEVELS.four;
const clean = (part, place) => CHANGED + "*transplant_" + part + "_" + place + "_itself";
const HALVES = { patches: clean("PATCHES", "HALF"), cls: clean("cls", "HALF") };
const word = (experiment) => ({ truth: "outcomeWord", at: { experiment } });
const left = (experiment) => ({ truth: "outcomeShare", at: { experiment } });
const OWN = {
  word: { truth: "finalWord" },
  share: { truth: "wordShare" },
  values: { truth: "pixelNumbers" },
};
const LEAST = {
  kind: /** @type {"choose"} */ ("choose"),
  truth: "leastTurn",
  at: { experiments: LEVELS },
  options: [...Object.keys(LEVELS), "further"],
};
const WORDS = { ...OWN, one: word(LEVELS.one), four: word(LEVELS.four), eight: word(LEVELS.eight) };
const LEFT = told(
  bars(Object.fromEntries(Object.entries(LEVELS).map(([level, text]) => [level, left(text)]))),
);

/** @type {import("../steps.js").Lesson} */
export const fooled = {
  id: "fooled",
  minutes: 8,
  ...GOLDFISH,
  recall: recalled("others"),
  figure: "stage",
  steps: [
    { id: "levels", values: OWN },
    {
      id: "least",
      figure: LEFT,
      question: LEAST,
      values: WORDS,
      claim: { truth: "leastTurn", at: LEAST.at, is: "one" },
      reveal: { state: { experiment: LEVELS.one, beside }, shows: ["beside"] },
    },
    {
      id: "noise",
      figure: EXPERIMENT,
      state: { experiment: "perturb_random_8_8_0", beside },
      question: { kind: "choose", truth: "sameWord", options: ["same", "other"] },
      values: { ...OWN, now: { truth: "otherWord" }, left: { truth: "otherShare" } },
      claim: { truth: "sameWord", is: "same" },
      reveal: { shows: ["beside"] },
    },
    {
      id: "half",
      late: true, // its text says how far the change goes, which an earlier step asks
      figure: told(bars({ patches: left(HALVES.patches), cls: left(HALVES.cls) })),
      question: {
        kind: "choose",
        truth: "bringsBack",
        at: { experiments: HALVES },
        options: [...Object.keys(HALVES), "both", "none"],
      },
      values: {
        ...OWN,
        changed: word(CHANGED),
        patchesLeft: left(HALVES.patches),
        clsLeft: left(HALVES.cls),
      },
      claim: { truth: "bringsBack", at: { experiments: HALVES }, is: "patches" },
      reveal: { state: { experiment: HALVES.patches, beside }, shows: ["beside"] },
    },
    {
      id: "handed",
      figure: told(curve("layers", left(clean("cls", "PLACE")))),
      question: {
        kind: "choose",
        truth: "firstTurn",
        at: { experiment: clean("cls", "PLACE") },
        options: "blocks",
      },
      values: {
        ...OWN,
        first: left(clean("cls", "1")),
        last: left(clean("cls", "LAST")),
        end: left(clean("cls", "END")),
      },
      reveal: { state: { experiment: clean("cls", "LAST"), beside }, shows: ["beside"] },
    },
    { id: "others" },
    {
      id: "transfer",
      figure: LEFT,
      state: { model: "photos", example: "red-panda" },
      question: LEAST,
      values: WORDS,
      reveal: { state: { experiment: CHANGED, beside }, shows: ["beside"] },
    },
  ],
};
