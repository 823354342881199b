/** The engine: passes of small models are Python's, intact and with every kind of intervention. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { anglesOf } from "../../vitviz/viewer/engine/angles.js";
import { readConfig, unknownSwitches } from "../../vitviz/viewer/engine/config.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { bestKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { KINDS } from "../../vitviz/viewer/engine/tables.js";
import { pack } from "../../vitviz/viewer/engine/machine.js";
import { SelectionError } from "../../vitviz/viewer/engine/surgery.js";
import { Chance } from "../../vitviz/viewer/maths/chance.js";
import { assertClose } from "./fixture.js";
import { ANGLES, MODELS, SERVERS, bytesOf, checkCases, checkIntact, checkpointOf } from "./engine.js";

const files = new Map(MODELS.map((model) => [model, checkpointOf(model)]));

function coreOf(model, makeKernels) {
  const core = new Core(makeKernels);
  return { core, facts: core.load(/** @type {ArrayBuffer} */ (files.get(model))) };
}

for (const [kernels, makeKernels] of Object.entries({ plain: plainKernels, simd: bestKernels })) {
  for (const model of MODELS) {
    const { name } = model;

    test(name + ": the intact pass is Python's, with " + kernels + " kernels", () => {
      const {
        core,
        facts: { config },
      } = coreOf(model, makeKernels);
      checkIntact(core, config, model);
    });

    test(name + ": every kind of intervention is Python's, with " + kernels + " kernels", () => {
      const {
        core,
        facts: { config },
      } = coreOf(model, makeKernels);
      checkCases(core, () => coreOf(model, makeKernels).core, config, model);
    });
  }
}

/** The same numbers for both kernels: rows of them with a stride, zeros in the rest. */
function sameNumbers(count, stride, width, seed) {
  return new Chance(seed, "noise").normals(count).map((value, at) => (at % stride < width ? value : 0));
}

test("both kinds of kernels compute the same, in strides that a row does not fill", () => {
  const all = [plainKernels(1 << 17), bestKernels(1 << 17)];
  const [a, b, bias, out, scores] = [2048, 8192, 16384, 20480, 40960];
  for (const { memory, ...kernels } of all) {
    const f = new Float32Array(memory);
    f.set(sameNumbers(12 * 16, 16, 13, 1), a / 4);
    f.set(sameNumbers(24 * 16, 16, 13, 2), scores / 4);
    f.set(sameNumbers(24, 24, 21, 3), bias / 4);
    pack(/** @type {any} */ (kernels), scores, 16, b, 24, 16);
    kernels.product(a, 16, b, bias, out, 24, 12, 16, 24, 0);
    kernels.product(a, 16, b, bias, out, 24, 12, 16, 24, 1);
    kernels.move(out, 24, scores, 24, 9, 21);
    kernels.softmax(scores, 9, 21, 24, 2.5, scores + 4096);
    f.set(sameNumbers(32, 16, 13, 5), bias / 4 + 32);
    kernels.norm(a, a + 1024, bias + 128, bias + 192, 12, 13, 16, 1e-6);
    f.set(
      sameNumbers(600, 600, 600, 4).map((value, at) => (at === 599 ? -30 : 4 * value)),
      (out + 4096) / 4,
    );
    kernels.gelu(out + 4096, 600, 0);
    // The way back, of numbers that have been used already.
    f.set(sameNumbers(9 * 24, 24, 21, 6), (out + 8192) / 4);
    kernels.softmaxBack(scores, out + 8192, 9, 24, 2.5);
    const [before, behind, sum] = [out + 10240, out + 11264, out + 12288];
    f.set(sameNumbers(12 * 16, 16, 13, 7), before / 4);
    f.set(sameNumbers(12 * 16, 16, 16, 8), behind / 4);
    f.set(sameNumbers(12 * 16, 16, 16, 9), sum / 4);
    kernels.normBack(before, behind, sum, bias + 128, 12, 13, 16, 1e-6);
    // what fills a stride is no gradient
    for (let row = 0; row < 12; row++) f.fill(0, sum / 4 + 16 * row + 13, sum / 4 + 16 * row + 16);
    f.set(sameNumbers(600, 600, 600, 10), (out + 13312) / 4);
    kernels.gelu(out + 4096, 600, out + 13312);
  }
  const [plain, simd] = all.map(({ memory }) => new Float32Array(memory).slice(512));
  assertClose(simd, plain, 1e-5);
  assert.ok(plain.filter((value) => value !== 0).length > 1500);
  // By hand: 0.841345 = Phi(1), and softmax of 0, ln 3.
  const { memory, gelu, norm, softmax } = bestKernels(65536);
  const f = new Float32Array(memory);
  f.set([1, -1, 0, 3], 1024);
  gelu(4096, 4, 0);
  assertClose(f.subarray(1024, 1028), [0.8413447, -0.1586553, 0, 2.9959503], 1e-6);
  // Phi(x) + x phi(x).
  f.set([1, -1, 0, 3, 2, 2, 2, 2], 1024);
  gelu(4096, 4, 4112);
  assertClose(f.subarray(1024, 1032), [1, -1, 0, 3, 2.1666309, -0.1666309, 1, 2.0238914], 1e-6);
  f.set([0, Math.log(3), 9, 9, 9, 9, 9, 9], 1024);
  softmax(4096, 1, 2, 8, 1, 8192);
  assertClose(f.subarray(1024, 1032), [0.25, 0.75, 0, 0, 0, 0, 0, 0], 1e-7);
  assertClose(f.subarray(2048, 2050), [Math.log(3), 4 / 3], 1e-6);
  // RMSNorm of 3, 4: divided by the root of 25 / 2.
  f.set([3, 4, 0, 0, 0, 0, 0, 0, 1, 1], 1024);
  norm(4096, 4096, 4128, 8192 + 64, 1, 2, 8, -1e-12);
  assertClose(f.subarray(1024, 1026), [3 / Math.sqrt(12.5), 4 / Math.sqrt(12.5)], 1e-6);
});

test("every kind is among the cases", () => {
  const kinds = new Set(
    MODELS.flatMap(({ cases }) =>
      cases.flatMap(({ interventions }) => interventions.map(({ kind }) => kind)),
    ),
  );
  assert.deepEqual(
    [...kinds].sort(),
    Object.keys(KINDS).sort(),
    "add one to each_kind in tests/test_interventions.py, then run python -m tests.viewer_fixture",
  );
});

test("angles that learn nothing are Python's", () => {
  for (const { config, cos, sin } of ANGLES) {
    const found = anglesOf(readConfig(config));
    assertClose(found.cos, cos, 1e-5);
    assertClose(found.sin, sin, 1e-5);
  }
});

test("a model with a switch that only the server knows says which", () => {
  const found = Object.fromEntries(
    Object.entries(SERVERS).map(([name, config]) => [name, unknownSwitches(readConfig(config))]),
  );
  assert.deepEqual(found, { patches: ["patch_norm_before", "patch_norm_after"] });
  for (const { config } of MODELS) assert.deepEqual(unknownSwitches(readConfig(config)), []);
});

test("a pass begins at the first block that is not as it was in an earlier pass", () => {
  const model = MODELS.find(({ name }) => name === "cls");
  const { core } = coreOf(model, bestKernels);
  const picture = bytesOf(model.picture);
  const run = (interventions, more = {}) => core.run({ picture, interventions, ...more });
  const head = { kind: "head", layer: 1, head: 0 };
  const branch = { kind: "branch", layer: 2, branch: "mlp" };
  const intact = run([]);
  assert.equal(intact.from, 0);
  assert.equal(run([]).from, 3);
  assert.equal(run([head]).from, 1);
  assert.equal(run([branch]).from, 2);
  assert.equal(run([head, branch]).from, 2);
  assert.equal(run([head, branch], { answer: true }).from, 3);
  assert.equal(run([{ kind: "even", rows: "all", layers: [2, 1] }]).from, 1);
  assert.equal(run([{ kind: "add", patches: "all", layer: 1, toward: 0, factor: 1 }]).from, 1);
  assert.equal(run([{ kind: "remove", patches: [1] }]).from, 0);
  assert.equal(run([{ kind: "swap", patches: [1, 2] }, branch]).from, 0);
  assert.equal(core.run({ picture: bytesOf(model.other) }).from, 0);
  // The intact pass is remembered longest; of what was transplanted nobody knows whose it was.
  assert.equal(run([branch]).from, 2);
  const transplant = { kind: "transplant", patches: "all", layer: 1, from: "other" };
  const donors = [{ tokens: intact.tokens[0], width: intact.width }];
  assert.equal(run([transplant], { donors }).from, 0);
  assert.equal(run([transplant], { donors }).from, 0);
  assert.equal(run([transplant], { donors, answer: true }).tokens, null);
});

test("patches that are left out of the sequence are those that a mask hides", () => {
  const others = [
    [],
    [{ kind: "positions", by: "shuffled", seed: 3 }],
    [
      { kind: "positions", by: "off" },
      { kind: "branch", layer: 0, branch: "attention" },
    ],
    [{ kind: "swap", patches: [0, 3] }],
    [
      { kind: "even", rows: "patches", layers: [0] },
      { kind: "scramble", rows: "patches", seed: 2 },
    ],
    [{ kind: "head", layer: 0, head: 0, by: "mean" }],
    [
      { kind: "cut", edges: "patches to others", layers: [0] },
      {
        kind: "cut",
        edges: [
          [3, 2],
          [0, 2],
        ],
        heads: [1],
      },
    ],
  ];
  for (const model of MODELS) {
    const {
      core,
      facts: { config },
    } = coreOf(model, bestKernels);
    const odd = Array.from({ length: config.num_patches }, (_, patch) => patch).filter(
      (patch) => patch % 2 === 1 && patch !== 3,
    );
    for (const other of others.filter(
      ([one]) => one?.kind !== "positions" || config.pos_embed || config.rotary || config.relative_bias,
    )) {
      const wish = {
        picture: bytesOf(model.picture),
        interventions: [{ kind: "remove", patches: odd }, ...other],
      };
      assertClose(core.run({ ...wish, answer: true }).logits, core.run(wish).logits, 2e-5);
    }
  }
});

test("the probability of a class is its share, or its own sigmoid where several can be true", () => {
  const model = MODELS.find(({ name }) => name === "no_cls");
  const { core, facts } = coreOf(model, bestKernels);
  const wish = { picture: bytesOf(/** @type {any} */ (model).picture) };
  const { logits } = core.run(wish);
  const all = Array.from({ length: facts.config.num_patches }, (_, patch) => patch);
  const of = (outputs) => {
    const work = core.work({ ...wish, target: 1, kept: [all], temperature: 2, outputs });
    let step = work.next();
    while (!step.done) step = work.next();
    return step.value[0];
  };
  const powers = Array.from(logits, (logit) => Math.exp(logit / 2));
  assertClose([of("one_of")], [powers[1] / powers.reduce((sum, power) => sum + power, 0)], 1e-5);
  for (const outputs of ["any_of", "score"]) assertClose([of(outputs)], [powers[1] / (1 + powers[1])], 1e-5);
  assert.ok(Number.isNaN(of("value")));
});

test("interventions that cannot be done are refused for the reason that Python has", () => {
  const {
    core,
    facts: { config },
  } = coreOf(
    MODELS.find(({ name }) => name === "no_cls"),
    bestKernels,
  );
  const picture = new Uint8Array(config.image_size[0] * config.image_size[1] * 3);
  const others = Array.from({ length: 15 }, (_, key) => [1, key]);
  const refusals = {
    no_list: "remove",
    no_kind: [{ kind: "paint" }],
    many: Array(65).fill({ kind: "swap", patches: [0, 1] }),
    malformed: [{ kind: "swap", patches: [1] }],
    empty: [{ kind: "remove", patches: [] }],
    twice: [{ kind: "keep", patches: [2, 2] }],
    out_of_range: [{ kind: "head", layer: 2, head: 0 }],
    many_edges: [{ kind: "cut", edges: Array(4097).fill([0, 0]) }],
    cells: [{ kind: "shuffle", cells: 2 }],
    fool_range: [{ kind: "perturb", epsilon: 9 }],
    add_range: [{ kind: "add", patches: "all", layer: 0, toward: 1, factor: -101 }],
    perturb_twice: [{ kind: "perturb" }, { kind: "perturb", epsilon: 1 }],
    no_prefix: [{ kind: "even", rows: "cls" }],
    no_positions: [{ kind: "positions", by: "rotary off" }],
    needs_donor: [{ kind: "transplant", patches: "all", layer: 1, from: "nobody" }],
    nothing_left: [{ kind: "remove", patches: [...Array(15).keys()] }],
    removed_and_kept: [
      { kind: "remove", patches: [1] },
      { kind: "keep", patches: [1] },
    ],
    removed_and: [
      { kind: "remove", patches: [1] },
      { kind: "swap", patches: [1, 2] },
    ],
    positions_twice: [
      { kind: "positions", by: "off" },
      { kind: "positions", by: "shuffled" },
    ],
    head_twice: [
      { kind: "head", layer: 1, head: 0 },
      { kind: "head", layer: 1, head: 0, by: "mean" },
    ],
    branch_twice: [
      { kind: "branch", layer: 1, branch: "mlp" },
      { kind: "branch", layer: 1, branch: "mlp" },
    ],
    branch_off: [
      { kind: "branch", layer: 1, branch: "attention" },
      { kind: "even", rows: "all", layers: [1] },
    ],
    blind: [{ kind: "cut", edges: others, layers: [1] }],
  };
  for (const [key, interventions] of Object.entries(refusals)) {
    assert.throws(
      () => core.run({ picture, interventions }),
      (error) => error instanceof SelectionError && error.key === key,
      key,
    );
  }
  const donors = [{ tokens: new Float32Array(15 * 32), width: 32 }];
  assert.throws(() => core.run({ picture, interventions: refusals.needs_donor, donors }), {
    key: "donor_shape",
  });
  assert.throws(() => core.run({ picture, interventions: [{ kind: "swap", patches: [] }] }), {
    key: "empty",
  });
  assert.throws(
    () => core.run({ picture, interventions: refusals.malformed }),
    (error) => error.values.example === KINDS.swap.example,
  );
  for (const factor of [NaN, Infinity, "2", null, true]) {
    const interventions = [{ kind: "add", patches: "all", layer: 0, toward: 1, factor }];
    assert.throws(() => core.run({ picture, interventions }), { key: "malformed" }, String(factor));
  }
  for (const name of ["registers", "no_pool"]) {
    const other = coreOf(
      MODELS.find((model) => model.name === name),
      bestKernels,
    );
    const { image_size: size, in_chans: channels } = other.facts.config;
    const seen = new Uint8Array(size[0] * size[1] * channels);
    const interventions = [{ kind: "add", patches: "all", layer: 0, toward: 0, factor: 1 }];
    assert.throws(() => other.core.run({ picture: seen, interventions }), { key: "add_classes" }, name);
  }
  const known = JSON.parse(
    readFileSync(new URL("../../vitviz/languages/en/experiments.json", import.meta.url), "utf8"),
  );
  assert.deepEqual(
    [...Object.keys(refusals), "donor_shape"].filter((key) => !known[key]),
    [],
  );
});
