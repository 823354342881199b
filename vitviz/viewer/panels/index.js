/** The panels, in the order of their tabs, group by group. CONTRIBUTING lists the places of a new one. */

import { attention } from "./attention.js";
import { experiment } from "./experiment.js";
import { explain } from "./explain.js";
import { features } from "./features.js";
import { many } from "./many.js";
import { model } from "./model.js";
import { patches } from "./patches.js";
import { positions } from "./positions.js";
import { predictions } from "./predictions.js";
import { qk } from "./qk.js";
import { rollout } from "./rollout.js";
import { training } from "./training.js";
import { why } from "./why.js";

/** @type {import("../state/panels.js").PanelDescription[]} */
export const PANELS = [
  why,
  patches,
  positions,
  attention,
  features,
  explain,
  rollout,
  qk,
  predictions,
  experiment,
  many,
  training,
  model,
];
