/**
 * How well heads that the page teaches tell kinds of things: `node teach_bench.js WEIGHTS FOLDER`, where the folder
 * has the pictures as the model sees them, one after the other, and draws.json with what is taught and tested.
 * tests/bench/teaching.py writes both.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Core } from "../../vitviz/viewer/engine/core.js";
import { bestKernels } from "../../vitviz/viewer/engine/kernels.js";
import { best, fitted, sharesOf } from "../../vitviz/viewer/learn/linearhead.js";
import { parseSafetensors, readMetadata } from "../../vitviz/viewer/maths/safetensors.js";
import { checkpointOf, mirrored } from "../../vitviz/viewer/play/ownmodel.js";

const [weights, folder] = process.argv.slice(2);
const read = (path) => Uint8Array.from(readFileSync(path));
const { buffer } = read(weights);
const described = JSON.parse(readMetadata(buffer).vitviz);
const { image_size: size, in_chans: channels } = described.config;
const [height, width] = [size].flat().length === 2 ? size : [size, size];
const known = { facts: /** @type {any} */ (null), described, tensors: parseSafetensors(buffer) };
const core = new Core(bestKernels);
core.load(checkpointOf(known, null));
const pictures = read(join(folder, "pictures"));
const { tested, draws } = JSON.parse(readFileSync(join(folder, "draws.json"), "utf8"));
const length = height * width * channels;
const vectors = /** @type {Map<number, Float32Array[]>} */ (new Map());
const spent = { passes: 0, milliseconds: 0 };

/** Milliseconds of a processor. */
function since(begun) {
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

function vectorsOf(at) {
  const found = vectors.get(at);
  if (found) return found;
  const picture = pictures.slice(at * length, (at + 1) * length);
  const begun = process.cpuUsage();
  const both = [picture, mirrored(picture, width, channels)].map((one) =>
    Float32Array.from(core.run({ picture: one, answer: true }).logits),
  );
  spent.passes += 2;
  spent.milliseconds += since(begun);
  vectors.set(at, both);
  return both;
}

const rights = {};
const fits = [];
for (const [row, all] of Object.entries(draws)) {
  rights[row] = [];
  for (const [train, test] of all) {
    const classes = test.length / tested;
    const each = train.length / classes;
    const taught = {
      vectors: train.map(vectorsOf),
      labels: train.map((_, at) => Math.floor(at / each)),
      groups: train,
      classes,
    };
    const begun = process.cpuUsage();
    const head = fitted(taught);
    if (row === "5 x 20") fits.push(since(begun));
    const answers = test.map((at) => best(sharesOf(head, vectorsOf(at)[0])));
    const right = answers.filter((answer, at) => answer === Math.floor(at / tested)).length;
    rights[row].push(right / test.length);
  }
}
const middle = fits.sort((a, b) => a - b)[Math.floor(fits.length / 2)];
process.stdout.write(
  JSON.stringify({
    rights,
    "a pass, ms": spent.milliseconds / spent.passes,
    "a head of 5 x 20, ms, median": middle,
  }),
);
