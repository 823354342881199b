/** Lesson What is gathered: from shares and values to what the heads of a layer hand on. */

import { bars, numbers, told } from "../figures.js";
import { recalled } from "../recalled.js";

const STATE = { panel: "qk", layer: 1, head: 2, token: [0.37, 0.45], partner: "strongest" };
const SHARE = { truth: "pairShare" };
const HEAD = { head: { truth: "headNumbers" } };
const JOINED = told(bars({ ...HEAD, heads: { truth: "joinedNumbers" } }), bars(HEAD));

/** @type {import("../steps.js").Lesson} */
export const gather = {
  id: "gather",
  minutes: 10,
  model: "photos",
  example: "red-panda",
  recall: recalled("others"),
  figure: JOINED,
  steps: [
    {
      id: "value",
      figure: told(numbers(["value", "mix"], { value: { truth: "handedOn" } }), numbers(["value"])),
      state: STATE,
      values: { share: SHARE, number: { truth: "valueNumber" } },
      question: { kind: "number", truth: "handedOn", min: -2, max: 2, worked: true },
    },
    {
      id: "mix",
      figure: told(
        bars({ values: { truth: "valueLength" }, mix: { truth: "mixedLength" } }),
        numbers(["value"]),
      ),
      state: STATE,
      values: { mixed: { truth: "mixedLength" }, mean: { truth: "valueLength" } },
      question: { kind: "choose", truth: "mixedOrValues", options: ["longer", "same", "shorter"] },
    },
    {
      id: "heads",
      state: STATE,
      question: { kind: "number", truth: "joinedNumbers", min: 0, max: 400, worked: true },
    },
    {
      id: "whose",
      figure: told({ kind: "bars", of: { truth: "headPart" } }),
      state: STATE,
      values: { part: { truth: "largestPart" } },
      question: { kind: "choose", truth: "largestHead", options: "heads" },
      claim: { truth: "largestPart", below: 0.5 },
      reveal: { shows: ["panel"] },
    },
    {
      id: "line",
      figure: "code",
      state: STATE,
      code: "join",
      question: {
        kind: "choose",
        truth: "filled",
        options: ["heads_not_moved", "right", "heads_interleaved"],
        worked: true,
      },
    },
    { id: "end", figure: "panel", state: STATE, shows: ["panel"] },
    {
      id: "transfer",
      state: { model: "mnist", example: "digit" },
      question: { kind: "number", truth: "joinedNumbers", min: 0, max: 400, worked: true },
    },
  ],
};
