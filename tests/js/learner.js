/** Runs of the page's learner, as Python's training makes them: tests/learner_fixture.py. */

import assert from "node:assert/strict";

import { backward } from "../../vitviz/viewer/engine/backward.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { makeMachine } from "../../vitviz/viewer/engine/machine.js";
import { Surgery } from "../../vitviz/viewer/engine/surgery.js";
import { eachLine, taken } from "../../vitviz/viewer/engine/vit.js";
import { readModel } from "../../vitviz/viewer/engine/weights.js";
import { backward as backwardOfBatch, forward, makeBatch, packAll } from "../../vitviz/viewer/learn/batch.js";
import { read, write } from "../../vitviz/viewer/learn/parameters.js";
import { Trainer } from "../../vitviz/viewer/learn/trainer.js";
import { DEFAULTS } from "../../vitviz/viewer/learn/defaults.js";
import { Chance } from "../../vitviz/viewer/maths/chance.js";
import { normalised } from "../../vitviz/viewer/maths/pixels.js";
import { assertAlike, assertSome, checkpointOf, zeros } from "./engine.js";
import { assertClose, told } from "./fixture.js";

export const RUNS = [
  "cls",
  "mean",
  "registers",
  "registers_mean",
  "none",
  "none_mean",
  "rotary",
  "rotary_mean",
  "rotary_registers",
].map((name) => ({ name, ...told("learner/" + name) }));
export const STARTS = told("learner/starts");

/** The pictures of the fixture: noise that is brighter from class to class. */
export function noise() {
  const levels = new Chance(1, "noise").integers(20 * 784);
  const labels = Uint8Array.from({ length: 20 }, (_, at) => at % 3);
  const all = {
    pixels: Uint8Array.from(levels, (level, at) => (level % 200) + 20 * labels[Math.floor(at / 784)]),
    labels,
  };
  return { train: all, test: all, classes: ["a", "b", "c"] };
}

export const SETTINGS = { ...DEFAULTS, batch: 5, epochs: 2.5, seed: 3, dim: 16 };

/**
 * Asserts that both Vision Transformers of the page, that of one picture (engine/) and that of a batch
 * (learn/), have the same logits and the same gradients of all weights.
 */
export function checkBatch({ config: described, parameters, mean, std }, makeKernels, count = 3) {
  const file = checkpointOf({
    config: described,
    preprocess: { size: described.image_size, channels: 1, mean, std },
    parameters,
  });
  const { weights, ...facts } = readModel(file);
  const { config } = facts;
  const core = new Core(makeKernels);
  core.load(file);
  const [one, many] = [
    makeMachine({ ...facts, weights }, makeKernels),
    makeBatch(config, count, makeKernels),
  ];
  for (const [name, numbers] of Object.entries(weights)) write(many.numbers, many.layout.all[name], numbers);
  packAll(many);
  const {
    num_classes: classes,
    num_patches: patches,
    patch_size: [, line],
  } = config;
  const gradients = new Chance(2, "noise").normals(count * classes).map(Math.fround);
  const [expected, logits] = [zeros(weights), []];
  for (let at = 0; at < count; at++) {
    const pass = core.run({ picture: noise().train.pixels.subarray(784 * at, 784 * (at + 1)) });
    const [pixels, behind] = [
      normalised(facts, pass.picture),
      gradients.slice(classes * at, classes * (at + 1)),
    ];
    backward(one, /** @type {any} */ (pass), pixels, new Surgery([], config), Float32Array.from(behind), {
      weights: expected,
    });
    eachLine(config, many.pixels, (from, to) =>
      many.f.set(pixels.subarray(from, from + line), many.at.patches / 4 + at * patches * many.pixels + to),
    );
    many.f.set(behind, many.at.dlogits / 4 + at * many.classes);
    logits.push(...pass.logits);
  }
  forward(many, count);
  assertAlike(taken(many, many.at.logits, count, classes), logits, 1e-5);
  backwardOfBatch(many, count);
  for (const [name, numbers] of Object.entries(expected))
    assertAlike(read(many.gradients, many.layout.all[name]), numbers, 1e-5, name);
}

/** Asserts that gradients, losses and what is learned in ten steps are torch's. */
export function checkRun({ config, parameters, mean, std, gradients, losses, learned, logits }, makeKernels) {
  const size = { size: config.image_size, channels: 1, mean, std };
  const { weights } = readModel(checkpointOf({ config, preprocess: size, parameters }));
  const trainer = new Trainer(SETTINGS, noise(), makeKernels, { config, weights });
  assert.deepEqual([[trainer.mean], [trainer.std]], [mean, std]);
  assert.equal(trainer.steps, losses.length);
  losses.forEach((loss, step) => {
    assertClose([trainer.step().loss], [loss], 1e-4 * Math.max(1, loss));
    if (step > 0) return;
    const found = trainer.gradients();
    assert.deepEqual(Object.keys(found).sort(), Object.keys(gradients).sort());
    for (const [name, some] of Object.entries(gradients)) assertSome(found[name], some, name);
  });
  const after = readModel(trainer.weights()).weights;
  // Softmax does not feel a bias of all keys alike, and what its gradient is rounded to decides where it
  // goes.
  const felt = (name, numbers, third = numbers.length / 3) =>
    name.endsWith("qkv.bias") && !config.rotary
      ? Float32Array.of(...numbers.subarray(0, third), ...numbers.subarray(2 * third))
      : numbers;
  for (const [name, some] of Object.entries(learned)) assertSome(felt(name, after[name]), some, name);
  const { probabilities } = trainer.measure();
  const shares = logits.flatMap((row) => {
    const all = row.reduce((sum, one) => sum + Math.exp(one), 0);
    return row.map((one) => Math.exp(one) / all);
  });
  assertClose(probabilities, shares, 1e-3);
}
