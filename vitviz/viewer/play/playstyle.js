/** The style of the playground, which comes with it. */

// A browser cannot read files: bundle.py replaces this module by one that contains the style.
import { readFileSync } from "node:fs";

export const STYLE = readFileSync(new URL("../style/play.css", import.meta.url), "utf8");
