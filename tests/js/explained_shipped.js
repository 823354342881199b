/**
 * Holds explanations of a shipped model to Python: `node explained_shipped.js CASES CHECKPOINT`, where CASES
 * is a file of pictures with cases by tests/explained_fixture.py. Fails with the first number that differs.
 */

import { readFileSync } from "node:fs";

import { Core } from "../../vitviz/viewer/engine/core.js";
import { bestKernels } from "../../vitviz/viewer/engine/kernels.js";
import { bytesOf, checkExplained } from "./engine.js";

const [told, checkpoint] = process.argv.slice(2);
const core = new Core(bestKernels);
const { config } = core.load(Uint8Array.from(readFileSync(checkpoint)).buffer);
for (const { picture, cases } of JSON.parse(readFileSync(told, "utf8"))) {
  for (const one of cases) checkExplained(core, config, bytesOf(picture), one);
}
