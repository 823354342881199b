/** The module of the engine: its bytes are those of its text. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import v8 from "node:v8";

import { bestKernels, fusedCode, fusedKernels } from "../../vitviz/viewer/engine/kernels.js";
import { MODULE } from "../../vitviz/viewer/engine/module.js";

const here = (path) => new URL(path, import.meta.url);

test(
  "the bytes of the kernels are those of their text",
  { skip: !existsSync(here("node_modules/wabt")) && "wabt needs npm ci" },
  async () => {
    const { assembled } = await import("./assemble.js");
    assert.equal(
      readFileSync(here("../../vitviz/viewer/engine/module.js"), "utf8"),
      await assembled(),
      "run node tests/js/assemble.js",
    );
  },
);

test("the module is small enough for browsers that let a page compile 4 kB at once", () => {
  assert.ok(Buffer.from(MODULE, "base64").length < 4096);
});

test("the module runs here, so that the other tests are of it too", () => {
  assert.equal(bestKernels(65536).simd, true);
});

const CODE = Uint8Array.from(Buffer.from(MODULE, "base64"));

/** The product of 4 rows and 8 columns, of numbers whose sums round. */
function productOf({ memory, product, strided }) {
  const numbers = new Float32Array(memory);
  for (let at = 0; at < 128; at++) numbers[at] = Math.sin(at * at);
  product(0, 8, 128, 384, 1024, 8, 4, 8, 8, 0);
  strided(0, 8, 1, 128, 8, 2048, 8, 4, 8, 8, 0);
  return [...numbers.subarray(256, 288), ...numbers.subarray(512, 544)];
}

test("a browser without relaxed SIMD multiplies and adds as training does", (context) => {
  context.mock.method(globalThis.WebAssembly, "validate", () => false);
  assert.equal(fusedCode(CODE), null);
  assert.deepEqual(productOf(fusedKernels(65536)), productOf(bestKernels(65536)));
});

test("products multiply and add in one instruction, and nothing else of the module changes", (context) => {
  if (!fusedCode(CODE)) v8.setFlagsFromString("--experimental-wasm-relaxed-simd");
  const fused = fusedCode(CODE);
  if (!fused) {
    context.skip("this Node has no relaxed SIMD");
    return;
  }
  const changed = [...CODE.keys()].filter((at) => fused[at] !== CODE[at]);
  assert.equal(changed.length, 40 * 4); // the operations of both tiles
  const [ours, plain] = [productOf(fusedKernels(65536)), productOf(bestKernels(65536))];
  assert.notDeepEqual(ours, plain); // it rounds once
  for (const [at, value] of ours.entries()) assert.ok(Math.abs(value - plain[at]) < 1e-6);
});
