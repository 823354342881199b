/** The code under the panels; bundle.py replaces this module. */

import { readFileSync } from "node:fs";

/** Python with vitviz's own functions, and with plain PyTorch. @type {Record<string, string>} */
export const SNIPPETS = Object.fromEntries(
  ["vitviz", "torch"].map((kind) => [
    kind,
    readFileSync(new URL("../snippets/with_" + kind + ".py", import.meta.url), "utf8"),
  ]),
);
