/** The module of the engine: its bytes are those of its text. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { bestKernels } from "../../vitviz/viewer/engine/kernels.js";
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
