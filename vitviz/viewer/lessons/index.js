/** The lessons, in the order of their list. A new lesson is a file and a line here, and its texts. */

import { ask } from "./ask.js";
import { black } from "./black.js";
import { block } from "./block.js";
import { cut } from "./cut.js";
import { gather } from "./gather.js";
import { hide } from "./hide.js";
import { learn } from "./learn.js";
import { matter } from "./matter.js";
import { notes } from "./notes.js";
import { number } from "./number.js";
import { school } from "./school.js";
import { shuffle } from "./shuffle.js";
import { taken } from "./taken.js";
import { transplant } from "./transplant.js";
import { unknown } from "./unknown.js";
import { when } from "./when.js";
import { where } from "./where.js";

/** @type {import("./steps.js").Lesson[]} */
export const LESSONS = [
  cut,
  where,
  shuffle,
  ask,
  number,
  gather,
  block,
  school,
  when,
  matter,
  black,
  hide,
  transplant,
  unknown,
  notes,
  learn,
  taken,
];
