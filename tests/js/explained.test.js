/**
 * Explanations in the page's engine: the values of all explainers that it has are Python's, and a fair test
 * of maps.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Core } from "../../vitviz/viewer/engine/core.js";
import { EXPLAINERS } from "../../vitviz/viewer/engine/explain.js";
import { bestKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { EXPLAINER_KEYS } from "../../vitviz/viewer/engine/tables.js";
import { SelectionError } from "../../vitviz/viewer/engine/surgery.js";
import { EXPLAINED, MODELS, bytesOf, checkExplained, checkpointOf, drained } from "./engine.js";

const coreOf = (model, makeKernels) => {
  const core = new Core(makeKernels);
  return { core, config: core.load(checkpointOf(model)).config };
};

for (const [name, cases] of Object.entries(EXPLAINED)) {
  const model = /** @type {any} */ (MODELS.find((one) => one.name === name));
  for (const [kernels, makeKernels] of Object.entries({ plain: plainKernels, simd: bestKernels })) {
    test(name + ": explanations and a fair test are Python's, with " + kernels + " kernels", () => {
      const { core, config } = coreOf(model, makeKernels);
      for (const told of cases)
        checkExplained(core, config, bytesOf(model.picture), told, bytesOf(model.other));
    });
  }
}

test("explainers that are listed are computed here, and the cases hold them", () => {
  const here = Object.keys(EXPLAINERS);
  const missing = EXPLAINER_KEYS.filter((key) => !here.includes(key));
  assert.deepEqual(
    missing,
    [],
    "add a function to EXPLAINERS in vitviz/viewer/engine/explain.js, or take the key out of " +
      "EXPLAINERS in vitviz/payload/in_page.py",
  );
  const unlisted = here.filter((key) => !EXPLAINER_KEYS.includes(key));
  assert.deepEqual(
    unlisted,
    [],
    "add the key to EXPLAINERS in vitviz/payload/in_page.py, then run python -m vitviz.payload.tables",
  );
  assert.deepEqual(
    here.filter((key) => !EXPLAINED.cls[0].values[key]),
    [],
    "run python -m tests.viewer_fixture",
  );
});

test("passes between two slices of a task change nothing of it", () => {
  const model = /** @type {any} */ (MODELS.find(({ name }) => name === "cls"));
  const { core } = coreOf(model, bestKernels);
  const picture = bytesOf(model.picture);
  for (const explainer of ["occlusion", "integrated_gradients"]) {
    const wish = { picture, target: 2, explainer };
    const alone = drained(core.work(wish)).values;
    const task = core.work(wish);
    const shares = [];
    let step = task.next();
    for (let at = 0; !step.done; at++, step = task.next()) {
      shares.push(step.value);
      core.run({
        picture: bytesOf(model.other),
        interventions: [{ kind: "remove", patches: [at % 16] }],
        answer: at % 2 === 0,
      });
    }
    assert.deepEqual(step.value.values, alone);
    assert.ok(
      shares.length > 10 &&
        shares.every((one, at) => one > (shares[at - 1] ?? 0)) &&
        shares[shares.length - 1] === 1,
    );
  }
});

test("what does not exist is refused", () => {
  const { core } = coreOf(
    MODELS.find(({ name }) => name === "cls"),
    bestKernels,
  );
  const picture = bytesOf(MODELS.find(({ name }) => name === "cls").picture);
  for (const wrong of [
    { explainer: "nothing" },
    { explainer: "generic", token: 17 },
    { explainer: "generic", target: 7 },
    { explainer: "generic", token: -1 },
    { explainer: "generic", token: 1.5 },
    { explainer: "generic", target: 0.5 },
    { target: NaN, kept: [[0]] },
  ]) {
    assert.throws(
      () => drained(core.work({ picture, target: 0, ...wrong })),
      SelectionError,
      JSON.stringify(wrong),
    );
  }
  const norm = coreOf(
    MODELS.find(({ name }) => name === "switches"),
    bestKernels,
  ).core;
  const other = bytesOf(MODELS.find(({ name }) => name === "switches").picture);
  assert.throws(() => drained(norm.work({ picture: other, target: 0, explainer: "attention_norm" })), {
    key: "no_attention_norm",
  });
});
