/**
 * Runs of the page's learner, when asked for: `node learner_run.js DIGITS`, a file in JSON with the pixels in
 * base64 and the labels of `train` and `test`. Each line is JSON: {settings, steps, weights, eachEpoch}, where
 * steps (all by default) are taken and the weights written to a file. What is printed for each: the losses;
 * where eachEpoch is true, what is right after each with the milliseconds until then that a processor took for
 * its steps; what is right at the end, of the test digits and of those that it learned from; and the
 * milliseconds of one step.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { bestKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { Trainer } from "../../vitviz/viewer/learn/trainer.js";
import { DEFAULTS } from "../../vitviz/viewer/learn/defaults.js";

const told = JSON.parse(readFileSync(process.argv[2], "utf8"));
const part = ({ pixels, labels }) => ({
  pixels: Uint8Array.from(Buffer.from(pixels, "base64")),
  labels: Uint8Array.from(labels),
});
const digits = { train: part(told.train), test: part(told.test), classes: [..."0123456789"] };

/** The share of the digits that it learned from which it gives the label that it was told. */
function ownRight(trainer) {
  const size = 28 * 28;
  const pixels = new Uint8Array(trainer.chosen.length * size);
  trainer.chosen.forEach((digit, at) =>
    pixels.set(digits.train.pixels.subarray(digit * size, (digit + 1) * size), at * size),
  );
  trainer.digits = { ...digits, test: { pixels, labels: trainer.labels } };
  return trainer.measure().right;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { settings, steps, weights, plain = false, eachEpoch = false } = JSON.parse(line);
  const trainer = new Trainer({ ...DEFAULTS, ...settings }, digits, plain ? plainKernels : bestKernels);
  const [losses, epochs] = [[], []];
  let spent = 0;
  while (trainer.stepsDone < (steps ?? trainer.steps)) {
    const begins = process.cpuUsage();
    losses.push(trainer.step().loss);
    const { user, system } = process.cpuUsage(begins);
    spent += (user + system) / 1000;
    if (eachEpoch && trainer.stepsDone % trainer.stepsPerEpoch === 0)
      epochs.push({ right: trainer.measure().right, milliseconds: spent });
  }
  if (weights) writeFileSync(weights, new Uint8Array(trainer.weights()));
  process.stdout.write(
    JSON.stringify({
      losses,
      epochs,
      right: trainer.measure().right,
      own: ownRight(trainer),
      perStep: spent / trainer.stepsDone,
      parameters: trainer.m.layout.count,
    }) + "\n",
  );
}
