/**
 * Recalled: the question that opens a lesson. It comes from an earlier lesson, and is asked about the picture
 * of this one.
 */

const MIDDLE = /** @type {[number, number]} */ ([0.54, 0.54]);
const PAIR = { layer: 1, head: 2, token: [0.37, 0.45], partner: "strongest" };

/** @type {Record<string, Omit<import("./steps.js").Step, "id">>} */
const QUESTIONS = {
  patches: { question: { kind: "number", truth: "patchCount", min: 0, max: 400, worked: true } },
  tokens: { question: { kind: "number", truth: "tokenCount", min: 0, max: 400, worked: true } },
  places: {
    state: { token: MIDDLE },
    marks: [
      [0.54, 0.46],
      [0.01, 0.01],
    ],
    question: { kind: "choose", truth: "moreAlike", options: ["a", "b"] },
  },
  even: { question: { kind: "number", truth: "evenShare", percent: true, min: 0, max: 0.1, worked: true } },
  others: {
    state: PAIR,
    question: { kind: "choose", truth: "raisedOthers", options: ["grow", "stay", "shrink"], worked: true },
  },
  joined: { question: { kind: "number", truth: "joinedNumbers", min: 0, max: 400, worked: true } },
  norm: {
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
