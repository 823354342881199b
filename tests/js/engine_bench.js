/**
 * Passes of a shipped model, when asked for: `node engine_bench.js CHECKPOINT`. Each line "simd", "plain",
 * "answer", "erase", "generic" or "fair" runs one of a new picture, or what takes several; what is printed is
 * the milliseconds of a processor that it took, which a busy machine hardly stretches.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import v8 from "node:v8";

import { Core } from "../../vitviz/viewer/engine/core.js";
import { fusedCode, fusedKernels, plainKernels } from "../../vitviz/viewer/engine/kernels.js";
import { MODULE } from "../../vitviz/viewer/engine/module.js";
import { keptAt, planOf } from "../../vitviz/viewer/maths/fairness.js";
import { drained } from "./engine.js";

// Node 20 has relaxed SIMD behind a flag, browsers have it without.
if (!fusedCode(Uint8Array.from(Buffer.from(MODULE, "base64"))))
  v8.setFlagsFromString("--experimental-wasm-relaxed-simd");
const buffer = Uint8Array.from(readFileSync(process.argv[2])).buffer;
const cores = { simd: new Core(fusedKernels), plain: new Core(plainKernels) };
const [{ config }] = [cores.simd, cores.plain].map((core) => core.load(buffer));
const count = config.image_size[0] * config.image_size[1] * config.in_chans;
const half = Array.from({ length: config.num_patches / 2 }, (_, at) => 2 * at);
const WAYS = {
  simd: {},
  plain: {},
  answer: { answer: true },
  erase: { answer: true, interventions: [{ kind: "remove", patches: half }] },
};

/** A fair test of two maps. */
function fair(picture) {
  const maps = Object.fromEntries(
    ["centre", "rollout", "generic"].map((explainer) => [
      explainer,
      drained(cores.simd.work({ picture, explainer, target: 1 })).values.subarray(config.num_prefix_tokens),
    ]),
  );
  const plan = planOf(maps, [...Array(config.num_patches).keys()], config.global_pool !== "token");
  for (let step = 1; step < plan.counts.length; step++)
    drained(cores.simd.work({ picture, target: 1, kept: keptAt(plan, step) }));
}

let seed = 0;
for await (const way of createInterface({ input: process.stdin })) {
  seed += 1;
  const picture = Uint8Array.from({ length: count }, (_, at) => (at * 31 + seed * 17) % 256);
  const begins = process.cpuUsage();
  if (way === "fair") fair(picture);
  else if (way === "generic") drained(cores.simd.work({ picture, explainer: way, target: 1 }));
  else cores[way === "plain" ? "plain" : "simd"].run({ picture, ...WAYS[way] });
  const { user, system } = process.cpuUsage(begins);
  process.stdout.write((user + system) / 1000 + "\n");
}
