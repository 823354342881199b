/** The warning wherever attention could be mistaken for an explanation. */

import { cited } from "./cited.js";

/** @param {(key: string) => string} t */
export const caution = (t) => cited(t("caution"), "arXiv:1902.10186", "vv-caution");
