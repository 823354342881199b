/** Learner: its gradients, its steps and where a run begins are torch's; and what a run promises a page. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readConfig } from "../../vitviz/viewer/engine/config.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { bestKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { packAll } from "../../vitviz/viewer/learn/batch.js";
import { drawn, layoutOf, read, write } from "../../vitviz/viewer/learn/parameters.js";
import { Trainer } from "../../vitviz/viewer/learn/trainer.js";
import { DEFAULTS, isMeasured, rightOf } from "../../vitviz/viewer/learn/defaults.js";
import { Twister } from "../../vitviz/viewer/maths/twister.js";
import { Chance } from "../../vitviz/viewer/maths/chance.js";
import { assertSome } from "./engine.js";
import { assertClose } from "./fixture.js";
import { RUNS, STARTS, checkBatch, checkRun } from "./learner.js";

for (const [kernels, makeKernels] of Object.entries({ plain: plainKernels, simd: bestKernels })) {
  for (const run of RUNS) {
    test(run.name + ": gradients and ten steps are torch's, with " + kernels + " kernels", () =>
      checkRun(run, makeKernels),
    );
    test(
      run.name +
        ": a batch has the logits and gradients of its pictures one by one, with " +
        kernels +
        " kernels",
      () => checkBatch(run, makeKernels),
    );
  }
}

test("rows of weights begin at multiples of eight numbers, which the kernels read at once", () => {
  const [{ config }] = Object.values(STARTS);
  const of = (side) =>
    layoutOf(
      readConfig({ ...config, image_size: [2 * side, 2 * side], patch_size: [side, side], in_chans: 1 }),
    ).all["patch_embed.proj.weight"];
  assert.deepEqual(
    [7, 4].map((side) => [of(side).into, of(side).stride, of(side).at % 8]),
    [
      [49, 56, 0],
      [16, 16, 0],
    ],
  );
});

test("a run begins with the numbers of torch's generator, and its digits come in torch's order", () => {
  for (const [name, { config, seed, weights, order }] of Object.entries(STARTS)) {
    const found = drawn(readConfig(config), seed);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(weights).sort());
    for (const [key, some] of Object.entries(weights)) assertSome(found[key], some, name + " " + key);
    assert.deepEqual([...new Twister(seed * 1_000_003 + 2).permutation(1000).subarray(0, 20)], order);
  }
});

/** Digits of a made-up kind: which quarter is bright, under noise. */
function quarters(count, seed) {
  const words = new Chance(seed, "noise").integers(count * 784);
  const labels = Uint8Array.from({ length: count }, (_, at) => at % 4);
  const isBright = (at, label) =>
    Math.floor(at / 28) < 14 === label < 2 && at % 28 < 14 === (label % 2 === 0);
  return {
    pixels: Uint8Array.from(
      words,
      (word, at) => (word % 60) + (isBright(at % 784, labels[Math.floor(at / 784)]) ? 150 : 0),
    ),
    labels,
  };
}

const QUARTERS = { train: quarters(96, 1), test: quarters(64, 2), classes: ["a", "b", "c", "d"] };
const SMALL = { ...DEFAULTS, dim: 16, depth: 1, batch: 16, epochs: 12, patch: 14 };

/** A run to its end: its last loss, and what is right of the test. */
function trained(settings) {
  const trainer = new Trainer({ ...SMALL, ...settings }, QUARTERS, bestKernels);
  let loss = 0;
  while (trainer.stepsDone < trainer.steps) ({ loss } = trainer.step());
  return { loss, right: trainer.measure().right };
}

test("what has no rule is learned by heart: with shuffled labels the digits of the test stay at chance", () => {
  assert.ok(trained({}).right > 0.9);
  const { loss, right } = trained({ labels: "shuffled", epochs: 40 });
  assert.ok(loss < 0.5 && right < 0.45, "loss " + loss + ", right " + right);
});

test("a model does not know what a neighbour is: patches moved in all pictures alike are as if their positions were", () => {
  const [ordered, moved] = ["ordered", "same"].map(
    (patches) => new Trainer({ ...SMALL, patch: 7, patches }, QUARTERS, bestKernels),
  );
  const rows = read(moved.m.numbers, moved.m.layout.all.pos_embed);
  const places = new Chance(0, "shuffle").permutation(16);
  const back = rows.slice();
  places.forEach((place, patch) =>
    back.set(rows.subarray((1 + place) * 16, (2 + place) * 16), (1 + patch) * 16),
  );
  write(ordered.m.numbers, ordered.m.layout.all.pos_embed, back);
  packAll(ordered.m);
  const losses = [ordered, moved].map((one) => Array.from({ length: 6 }, () => one.step().loss));
  assertClose(losses[0], losses[1], 1e-4);
  assertClose(ordered.measure().probabilities, moved.measure().probabilities, 1e-3);
});

test("patches moved in each picture in its own way matter to positions alone", () => {
  const losses = (settings) => {
    const trainer = new Trainer({ ...SMALL, patch: 7, ...settings }, QUARTERS, bestKernels);
    return Array.from({ length: 6 }, () => trainer.step().loss);
  };
  assertClose(losses({ positions: "none", patches: "each" }), losses({ positions: "none" }), 1e-4);
  assert.ok(losses({ patches: "each" }).some((loss, step) => Math.abs(loss - losses({})[step]) > 1e-3));
});

test("fewer digits are taken evenly, and settings that make no run are refused", () => {
  const trainer = new Trainer({ ...SMALL, train: 24, labels: "true" }, QUARTERS, bestKernels);
  assert.deepEqual(
    [...trainer.chosen],
    Array.from({ length: 24 }, (_, at) => 4 * at),
  );
  assert.equal(trainer.steps, 12);
  assert.equal(trainer.measure().right, 0.25); // the first class, as long as all are alike
  for (const wrong of [
    { train: 8 },
    { patch: 5 },
    { dim: 20 },
    { dim: 24, heads: 4 },
    { dim: 8, heads: 2 },
    { depth: 0 },
  ]) {
    assert.throws(() => new Trainer({ ...SMALL, ...wrong }, QUARTERS, bestKernels), /^(RangeError|Error)/);
  }
});

test("a long run takes no more memory: a step makes no array of numbers", () => {
  const trainer = new Trainer({ ...SMALL, patch: 4, positions: "rotary", depth: 2 }, QUARTERS, bestKernels);
  trainer.step();
  const { memory } = trainer.m.kernels;
  const bytes = memory.byteLength;
  const usual = { Float32Array, Float64Array, Uint8Array };
  let made = 0;
  for (const [name, one] of Object.entries(usual)) {
    globalThis[name] = new Proxy(one, {
      construct: (target, parts, as) => {
        if (!(parts[0] instanceof ArrayBuffer)) made += 1;
        return Reflect.construct(target, parts, as);
      },
    });
  }
  try {
    for (let step = 0; step < 4; step++) trainer.step();
    assert.equal(made, 0);
    trainer.measure(16);
    assert.equal(made, 1);
  } finally {
    Object.assign(globalThis, usual);
  }
  assert.equal(trainer.m.kernels.memory, memory);
  assert.equal(memory.byteLength, bytes);
});

test("the weights of a run are a file that the engine runs, and that answers alike", () => {
  for (const settings of [
    {},
    { positions: "rotary", pool: "mean", patch: 7 },
    { positions: "none", patch: 4, heads: 2 },
    { patch: 7, patches: "same" },
    { patch: 7, patches: "same", pool: "mean" },
  ]) {
    const trainer = new Trainer({ ...SMALL, depth: 2, ...settings }, QUARTERS, bestKernels);
    for (let step = 0; step < 8; step++) trainer.step();
    const core = new Core(bestKernels);
    const { unknown, labels } = core.load(trainer.weights());
    assert.deepEqual([unknown, labels], [[], QUARTERS.classes]);
    const { probabilities } = trainer.measure(3);
    for (let one = 0; one < 3; one++) {
      const { logits } = core.run({ picture: QUARTERS.test.pixels.subarray(784 * one, 784 * (one + 1)) });
      const sum = logits.reduce((all, logit) => all + Math.exp(logit), 0);
      assertClose(
        probabilities.subarray(4 * one, 4 * (one + 1)),
        logits.map((logit) => Math.exp(logit) / sum),
        1e-4,
      );
    }
  }
});

test("a step taken apart is the one that is taken, and its gradient a finite difference", () => {
  const trainer = new Trainer({ ...SMALL, batch: 1, labels: "shuffled" }, QUARTERS, bestKernels);
  const order = new Twister(0).permutation(96);
  for (let step = 0; step < 5; step++) trainer.step();
  for (const name of [
    "",
    "blocks.0.attn.qkv.weight",
    "blocks.0.norm1.bias",
    "pos_embed",
    "patch_embed.proj.weight",
  ]) {
    const index = order[trainer.stepsDone];
    const { weight, loss, label, probabilities, gradients, rate, lengths } = trainer.apart(index, name);
    assert.equal(weight.name, name || weight.name);
    assert.equal(label, trainer.labels[index]);
    assertClose([-Math.log(probabilities[label])], [loss], 1e-6);
    assertClose(
      gradients,
      probabilities.map((share, i) => share - Number(i === label)),
      1e-7,
    );
    assertClose([weight.finite], [weight.gradient], 2e-3 * Math.max(0.05, Math.abs(weight.gradient)));
    const before = trainer.m.numbers.slice();
    assert.deepEqual(trainer.step(), { loss, rate });
    const parameter = trainer.m.layout.all[weight.name];
    const [now, then] = [trainer.m.numbers, before].map((numbers) => read(numbers, parameter)[weight.at]);
    assert.equal(then, weight.value);
    assertClose([now - then], [weight.update], 1e-6);
    assertClose([Math.hypot(...trainer.gradients()[weight.name])], [lengths[weight.name]], 1e-6);
  }
  assert.throws(() => trainer.apart(0, "nothing"), RangeError);
});

test("a run that was kept goes on as if it had never stopped", () => {
  const whole = new Trainer(SMALL, QUARTERS, bestKernels);
  const first = new Trainer(SMALL, QUARTERS, bestKernels);
  for (let step = 0; step < 9; step++) [whole, first].forEach((one) => one.step());
  const kept = structuredClone(first.keep());
  first.step(); // what was kept is a copy
  const second = new Trainer(SMALL, QUARTERS, bestKernels, { kept });
  for (let step = 0; step < 9; step++) assert.deepEqual(second.step(), whole.step());
  assert.deepEqual(second.m.numbers, whole.m.numbers);
  assert.deepEqual(second.measure(), whole.measure());
});

test("right answers are counted from the most probable class, of equal ones the first", () => {
  assert.equal(rightOf(Float32Array.of(0.5, 0.5, 0.5, 0.5, 0.2, 0.8, 0.9, 0.1), [0, 1, 1, 1]), 0.5);
  assert.deepEqual(
    [0, 10, 20, 90, 100, 120, 150, 173].filter((step) => isMeasured(step, 173)),
    [0, 20, 100, 150, 173],
  );
});
