/**
 * Holds passes of the shipped models to Python: `node engine_shipped.js PASSES CHECKPOINT`, where PASSES is a
 * file of passes of pictures by tests/engine_fixture.py. Fails with the first number that differs.
 */

import { readFileSync } from "node:fs";

import { Core } from "../../vitviz/viewer/engine/core.js";
import { bestKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { checkCases, checkIntact } from "./engine.js";

const [told, checkpoint] = process.argv.slice(2);
const buffer = Uint8Array.from(readFileSync(checkpoint)).buffer;

for (const passes of JSON.parse(readFileSync(told, "utf8"))) {
  for (const kernels of [bestKernels, plainKernels]) {
    const core = new Core(kernels);
    const { config } = core.load(buffer);
    checkIntact(core, config, passes);
    if (kernels === plainKernels || passes.cases.length === 0) continue;
    const other = new Core(kernels);
    other.load(buffer);
    checkCases(core, () => other, config, passes);
  }
}
