/**
 * Recalled: the question that opens a lesson. It comes from an earlier lesson, and is asked about the picture
 * of this one.
 */

import { NORMED, RAISED, bars, maps, told } from "./figures.js";

const MIDDLE = /** @type {[number, number]} */ ([0.54, 0.54]);
const PAIR = { layer: 1, head: 2, token: [0.37, 0.45], partner: "strongest" };

/** @type {Record<string, Omit<import("./steps.js").Step, "id">>} */
const QUESTIONS = {
  patches: {
    figure: "stage",
    question: { kind: "number", truth: "patchCount", min: 0, max: 400, worked: true },
  },
  tokens: {
    figure: "stage",
    question: { kind: "number", truth: "tokenCount", min: 0, max: 400, worked: true },
  },
  places: {
    figure: told(maps({ here: { truth: "positionMap" } })),
    state: { token: MIDDLE },
    marks: [
      [0.54, 0.46],
      [0.01, 0.01],
    ],
    question: { kind: "choose", truth: "moreAlike", options: ["a", "b"] },
  },
  even: {
    figure: "stage",
    question: { kind: "number", truth: "evenShare", percent: true, min: 0, max: 0.1, worked: true },
  },
  others: {
    figure: RAISED,
    state: PAIR,
    question: { kind: "choose", truth: "raisedOthers", options: ["grow", "stay", "shrink"], worked: true },
  },
  joined: {
    figure: told(bars({ head: { truth: "headNumbers" }, heads: { truth: "joinedNumbers" } })),
    question: { kind: "number", truth: "joinedNumbers", min: 0, max: 400, worked: true },
  },
  norm: {
    figure: told(NORMED),
    state: PAIR,
    question: { kind: "choose", truth: "normOfTwice", options: ["twice", "same", "half"], worked: true },
  },
};

/**
 * The step before the first one.
 * @param {keyof typeof QUESTIONS} name
 * @returns {import("./steps.js").Step}
 */
export const recalled = (name) => ({ id: "recall", says: "recall_" + name, ...QUESTIONS[name] });
