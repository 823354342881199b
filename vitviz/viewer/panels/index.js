/** The panels, in the order of their tabs. A new one is a file, a line here and its id in state/state.js. */

import { attention } from "./attention.js";
import { features } from "./features.js";
import { model } from "./model.js";
import { patches } from "./patches.js";
import { positions } from "./positions.js";
import { predictions } from "./predictions.js";
import { qk } from "./qk.js";
import { rollout } from "./rollout.js";
import { training } from "./training.js";

/** @type {{id: string, create: (app: import("../main.js").App) => import("../types.js").Panel,
 *   saves?: (app: import("../main.js").App, view: import("../types.js").View) => import("../data/saves.js").Saves}[]} */
export const PANELS = [patches, positions, attention, qk, rollout, features, predictions, training, model];
