/**
 * Holds gradients of a shipped model to torch: `node gradients_shipped.js CASES CHECKPOINT`, where CASES is a
 * file of pictures with cases by tests/gradients_fixture.py. Fails with the first number that differs.
 */

import { readFileSync } from "node:fs";

import { bestKernels } from "../../vitviz/viewer/engine/kernels.js";
import { checkGradients } from "./engine.js";

const [told, checkpoint] = process.argv.slice(2);
const buffer = Uint8Array.from(readFileSync(checkpoint)).buffer;
for (const { picture, cases } of JSON.parse(readFileSync(told, "utf8")))
  checkGradients(buffer, bestKernels, { picture, other: picture }, cases);
