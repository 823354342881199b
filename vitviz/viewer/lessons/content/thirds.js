/** Lesson The other two thirds: the MLP of a block, one of its hidden units, and what it costs to leave it out. */

import { bars, curve, maps, told } from "../figures.js";
import { recalled } from "../recalled.js";

const UNIT = { unit: 13 }; // of the first ones, whose sums a page has
const PHOTOS = ["red-panda", "bison", "cat", "goldfish", "dog", "coffee"];
const [MLP, ATTENTION] = ["mlp", "attention"];
const NAMES = { [MLP]: "noMlp", [ATTENTION]: "noAttention" }; // of rows
const beside = "experiment";

const off = (layer, branch) => ["branch", layer, branch].join("_");
// All tokens of another photo, put in before the first block: that photo's answer.
const INTACT = PHOTOS.slice(1).map((photo) => "transplant_all_0_example-" + photo);
const offIn = (layer, branch) =>
  ["", ...INTACT.map((photo) => photo + "*")].map((photo) => photo + off(layer, branch));

const WEIGHTS = { attention: { truth: "attentionWeights" } };
const FIRST = { mlp: off(0, MLP), attention: off(0, ATTENTION) };
const left = (branch) => ({ truth: "outcomeShare", at: { experiment: FIRST[branch] } });

/** The six photos without the MLP of a block, and without its attention. @param {number|"LAST"} layer */
const six = (layer) => ({
  experiments: { [MLP]: offIn(layer, MLP), [ATTENTION]: offIn(layer, ATTENTION), intact: INTACT },
});
/**
 * Bars of the six photos: the share of each answer that is left without the MLP of a block, and without its
 * attention.
 * @param {number|"LAST"} layer
 */
const sixBars = (layer) =>
  bars(
    Object.fromEntries(
      PHOTOS.flatMap((_, at) =>
        [MLP, ATTENTION].map((branch) => [
          NAMES[branch] + " " + (at + 1),
          {
            truth: "keptShare",
            at: { experiments: [...INTACT.slice(Math.max(0, at - 1), at), offIn(layer, branch)[at]] },
          },
        ]),
      ),
    ),
  );

/** @type {import("../steps.js").Lesson} */
export const thirds = {
  id: "thirds",
  minutes: 8,
  model: "photos",
  example: "red-panda",
  recall: recalled("norm"),
  figure: "stage",
  steps: [
    {
      id: "weights",
      figure: told(bars({ ...WEIGHTS, mlp: { truth: "mlpWeights" } }), bars(WEIGHTS)),
      values: {
        attention: WEIGHTS.attention,
        hidden: { truth: "hiddenCount" },
        mlp: { truth: "mlpWeights" },
        part: { truth: "mlpPart" },
      },
      question: { kind: "number", truth: "mlpWeights", min: 0, max: 400_000, worked: true },
      claim: { truth: "mlpPart", above: 0.6, below: 0.7 },
    },
    {
      id: "unit",
      figure: told(maps({ unit: { truth: "unitMap", at: UNIT } })),
      state: { layer: 1 },
      values: { hidden: { truth: "hiddenCount" }, on: { truth: "unitOn", at: UNIT } },
      question: { kind: "patches", truth: "unitMap", at: UNIT, count: 6 },
      claim: { truth: "unitPlace", at: UNIT, is: "bottom" },
    },
    {
      id: "bend",
      figure: told(curve("sums", { truth: "bent" }, { at: { truth: "unitLeast", at: UNIT } })),
      state: { layer: 1 },
      values: {
        hidden: { truth: "hiddenCount" },
        least: { truth: "unitLeast", at: UNIT },
        most: { truth: "unitMost", at: UNIT },
        low: { truth: "bentLeast", at: UNIT },
        high: { truth: "bentMost", at: UNIT },
      },
      question: { kind: "choose", truth: "bentKind", at: UNIT, options: ["kept", "flipped", "gone"] },
    },
    {
      id: "off",
      figure: told(bars({ mlp: left(MLP), attention: left(ATTENTION) })),
      values: {
        word: { truth: "finalWord" },
        share: { truth: "wordShare" },
        mlp: left(MLP),
        attention: left(ATTENTION),
      },
      question: { kind: "choose", truth: "hurtsMost", at: { experiments: FIRST }, options: [ATTENTION, MLP] },
      claim: { truth: "hurtsMost", at: { experiments: FIRST }, is: MLP },
      reveal: { state: { experiment: FIRST.mlp, beside }, shows: ["beside"] },
    },
    {
      id: "six",
      figure: told(sixBars(0)),
      question: { kind: "number", truth: "moreHarmed", at: six(0), min: 0, max: 6, strict: true },
      claim: { truth: "moreHarmed", at: six(0), above: 5 },
    },
    {
      id: "last",
      figure: told(sixBars("LAST")),
      question: { kind: "number", truth: "moreHarmed", at: six("LAST"), min: 0, max: 6, strict: true },
      claim: { truth: "moreHarmed", at: six("LAST"), below: 1 },
    },
    {
      id: "transfer",
      figure: told(bars({ ...WEIGHTS, mlp: { truth: "narrowWeights" } })),
      state: { model: "mnist", example: "digit" },
      values: {
        attention: WEIGHTS.attention,
        hidden: { truth: "hiddenCount" },
        narrow: { truth: "narrowWeights" },
      },
      question: { kind: "number", truth: "narrowPart", percent: true, min: 0, max: 1, worked: true },
    },
  ],
};
