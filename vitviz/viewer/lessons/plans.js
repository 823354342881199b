/**
 * Plans: the timetable of a class. The list of lessons, the sheet for the teacher and teaching.md are made
 * from them.
 */

import { ITEMS } from "./check.js";

/**
 * A part of a plan: the steps of a lesson, or another activity.
 * @typedef {{minutes: number, does: string, steps?: number[], note?: string}} Part
 *   does: the id of a lesson, else the name of a text; steps: of the lesson; without them all; note: the name
 *   of a text
 * @typedef {{id: string, minutes: number, parts: Part[]}} Plan
 */

/**
 * @param {number} minutes
 * @param {string} does
 * @param {Omit<Part, "minutes"|"does">} [more]
 * @returns {Part}
 */
const part = (minutes, does, more = {}) => ({ minutes, does, ...more });

const BRIEF = { steps: [1, 2, 3, 4, 6] }; // of Cut: the picture and its patches, down to the list of tokens
const [CHECK, AGAIN] = [part(4, "before"), part(5, "after", { note: "again" })];

/** @type {Plan[]} */
export const PLANS = [
  {
    id: "look",
    minutes: 20,
    parts: [
      part(4, "cut", BRIEF),
      part(8, "ask", { steps: [1, 2, 3, 4] }),
      part(8, "hide", { steps: [1, 2, 3, 4] }),
    ],
  },
  {
    id: "lesson",
    minutes: 45,
    parts: [
      part(7, "things", { note: "things" }),
      CHECK,
      part(4, "cut", BRIEF),
      part(9, "ask", { steps: [1, 2, 3, 4, 5], note: "vote" }),
      part(10, "matter", { steps: [1, 2, 3, 4, 7], note: "cat" }),
      part(6, "unknown", { steps: [1, 2, 3, 4], note: "fool" }),
      AGAIN,
    ],
  },
  {
    id: "double",
    minutes: 90,
    parts: [
      CHECK,
      part(6, "cut"),
      part(8, "where"),
      part(8, "shuffle"),
      part(12, "ask", { note: "vote" }),
      part(5, "pause"),
      part(10, "number"),
      part(9, "matter", { note: "cat" }),
      part(7, "black"),
      part(8, "hide"),
      part(8, "unknown", { note: "fool" }),
      AGAIN,
    ],
  },
  {
    id: "week1",
    minutes: 45,
    parts: [
      part(4, "before", { note: "device" }),
      part(6, "cut"),
      part(8, "where"),
      part(8, "shuffle"),
      part(12, "ask", { note: "vote" }),
      part(7, "talk"),
    ],
  },
  {
    id: "week2",
    minutes: 45,
    parts: [
      part(10, "number"),
      part(8, "gather", { steps: [1, 2, 4, 5] }),
      part(6, "block", { steps: [1, 3, 4] }),
      part(8, "thirds"),
      part(5, "school", { steps: [1, 2, 4] }),
      part(8, "notes", { steps: [1, 2, 3, 4, 6, 7] }),
    ],
  },
  {
    id: "week3",
    minutes: 45,
    parts: [
      part(7, "when"),
      part(9, "matter", { note: "cat" }),
      part(7, "hide", { steps: [1, 2, 3, 4] }),
      part(8, "transplant"),
      part(8, "fooled"),
      part(6, "cheats", { steps: [1, 2, 3, 6] }),
    ],
  },
  {
    id: "week4",
    minutes: 45,
    parts: [
      part(10, "learn"),
      part(8, "taken", { steps: [1, 2, 3], note: "play" }),
      part(6, "data", { steps: [1, 2, 3] }),
      part(16, "exercise", { note: "gaps" }),
      AGAIN,
    ],
  },
];

/**
 * Questions of the self-check that a plan teaches: all steps of each are in it.
 * @param {Plan} plan
 */
export const taughtBy = ({ parts }) =>
  ITEMS.filter((item) =>
    parts.some(
      ({ does, steps }) =>
        does === item.lesson && (!steps || item.steps.every((step) => steps.includes(step))),
    ),
  );
