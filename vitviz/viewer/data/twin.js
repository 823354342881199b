/** Twin: a model before its training, drawn in this page, as the checkpoint that Python would write. */

import { weightsOf } from "../maths/draws.js";
import { writeSafetensors } from "../maths/safetensors.js";

/**
 * @param {import("../maths/draws.js").Draws & {vitviz: string}} told  vitviz: what the checkpoint says of itself
 * @returns {ArrayBuffer}
 */
export const checkpointOf = ({ vitviz, ...draws }) => writeSafetensors(weightsOf(draws), { vitviz });
