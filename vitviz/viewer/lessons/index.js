/** The lessons, in the order of their list. CONTRIBUTING lists the places of a new one. */

import { ask } from "./content/ask.js";
import { black } from "./content/black.js";
import { block } from "./content/block.js";
import { cheats } from "./content/cheats.js";
import { cut } from "./content/cut.js";
import { data } from "./content/data.js";
import { fooled } from "./content/fooled.js";
import { gather } from "./content/gather.js";
import { hide } from "./content/hide.js";
import { learn } from "./content/learn.js";
import { matter } from "./content/matter.js";
import { notes } from "./content/notes.js";
import { number } from "./content/number.js";
import { school } from "./content/school.js";
import { shuffle } from "./content/shuffle.js";
import { taken } from "./content/taken.js";
import { thirds } from "./content/thirds.js";
import { transplant } from "./content/transplant.js";
import { unknown } from "./content/unknown.js";
import { when } from "./content/when.js";
import { where } from "./content/where.js";

/** @type {import("./steps.js").Lesson[]} */
export const LESSONS = [
  cut,
  where,
  shuffle,
  ask,
  number,
  gather,
  block,
  thirds,
  school,
  when,
  matter,
  black,
  hide,
  transplant,
  fooled,
  unknown,
  cheats,
  notes,
  learn,
  taken,
  data,
];
