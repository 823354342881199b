/** The line: which part of the model each panel is about, and what the model would answer after a layer. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { firstAfter, lensLines } from "../../vitviz/viewer/maths/predictions.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { partsTouched, read } from "../../vitviz/viewer/state/experiment.js";
import { explainerOf, panelOf } from "../../vitviz/viewer/state/panels.js";

test("what a layer would answer is the class of its largest logit, and nothing where several have it", () => {
  const lines = lensLines(
    [
      [0, 3, 1],
      [2, 2, 0],
      [0, 0, 0],
      [5, 1, 2],
    ].map((one) => Float32Array.from(one)),
    { outputs: "one_of", temperature: 1 },
    ["a", "b", "c"],
    3,
  );
  assert.deepEqual(
    [0, 1, 2, 3].map((layer) => firstAfter(lines, layer)?.label ?? null),
    ["b", null, null, "a"],
  );
});

test("each panel lights what it is about, and every part leads to a panel", () => {
  const lit = (
    id,
    { gallery = "layer", experiment = "", first = 1, layer = 3, inside = false, film = false } = {},
  ) =>
    panelOf(PANELS, id).lights(
      /** @type {any} */ ({
        selection: { first, layer },
        taste: { gallery },
        bench: { list: () => read(experiment) },
        source: { inside: { exists: inside }, film: { exists: film }, manifest: { model: { depth: 5 } } },
      }),
    );
  const all = [0, 1, 2, 3, 4];
  assert.deepEqual(Object.fromEntries(PANELS.map(({ id }) => [id, lit(id)])), {
    patches: ["patches"],
    positions: ["position"],
    attention: [3],
    qk: [3],
    rollout: [1, 2, 3],
    explain: ["answer"],
    features: [3],
    predictions: ["answer"],
    experiment: [],
    training: [],
    why: [3],
    many: [],
    model: [],
  });
  assert.deepEqual(
    [
      lit("attention", { gallery: "all" }),
      lit("attention", { gallery: "dots" }),
      lit("attention", { gallery: "matrix" }),
    ],
    [all, all, [3]],
  );
  assert.deepEqual(lit("training", { film: true }), [3]);
  assert.deepEqual(lit("positions", { inside: true }), ["position", 3], "each block is told the places anew");
  const named = (part) => explainerOf(PANELS, part).id;
  assert.deepEqual(["photo", "patches", "position", "layers", "answer"].map(named), [
    "patches",
    "patches",
    "positions",
    "attention",
    "predictions",
  ]);
});

test("an experiment lights what it touches, each part once", () => {
  const touched = (text) => partsTouched(read(text), 3);
  assert.deepEqual(touched("remove_4-6*keep_1"), ["patches"]);
  assert.deepEqual(touched("replace_4_blur_0*shuffle_2_1*positions_off_0"), ["photo", "position"]);
  assert.deepEqual(touched("head_2_0_zero*branch_0_mlp*head_2_1_mean"), [2, 0]);
  assert.deepEqual(touched("cut_patches-to-prefix_1_all"), [1]);
  assert.deepEqual(touched("even_cls_all"), [0, 1, 2]);
  assert.deepEqual(
    [touched("transplant_cls_1_example-cat"), touched("transplant_cls_3_example-cat")],
    [[1], ["answer"]],
    "before the head",
  );
});
