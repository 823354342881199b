/** Backward: gradients of small models are torch's, of attention, tokens, pixels and weights. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { bestKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { KINDS } from "../../vitviz/viewer/engine/tables.js";
import { GRADIENTS, MODELS, checkGradients, checkpointOf } from "./engine.js";

for (const [kernels, makeKernels] of Object.entries({ plain: plainKernels, simd: bestKernels })) {
  for (const model of MODELS) {
    test(model.name + ": gradients are torch's, with " + kernels + " kernels", () => {
      checkGradients(checkpointOf(model), makeKernels, model, GRADIENTS[model.name]);
    });
  }
}

test("the cases hold every kind of intervention", () => {
  const kinds = new Set(
    Object.values(GRADIENTS)
      .flat()
      .flatMap(({ interventions }) => interventions.map(({ kind }) => kind)),
  );
  assert.deepEqual(
    Object.keys(KINDS).filter((kind) => !kinds.has(kind)),
    [],
    "add one to CASES in tests/operated_fixture.py, then run python -m tests.viewer_fixture",
  );
});
