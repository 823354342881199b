/** The check of the strict rooms: what it counts, and what it leaves out. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const STRICT = fileURLToPath(new URL("strict.js", import.meta.url));
const HAS_TSC = existsSync(new URL("node_modules/.bin/tsc", import.meta.url));
const FAULT =
  '/** @type {string|null} */\nexport let name = null;\nname = ["a"].find((one) => one === "b");\n';

/** What the check says of a viewer with these files. @param {Record<string, string>} files */
function checked(files, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), "strict-"));
  const compilerOptions = {
    allowJs: true,
    checkJs: true,
    noEmit: true,
    strict: false,
    strictNullChecks: true,
    target: "es2022",
    module: "es2022",
    moduleResolution: "bundler",
    types: [],
    ...options,
  };
  for (const [path, text] of Object.entries({
    ...files,
    "tsconfig.json": JSON.stringify({ compilerOptions, include: ["viewer/**/*.js"] }),
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { status, stdout } = spawnSync(process.execPath, [STRICT, join(folder, "tsconfig.json")], {
    encoding: "utf8",
  });
  rmSync(folder, { recursive: true });
  return {
    status,
    found: stdout
      .split("\n")
      .filter((line) => line && !line.startsWith(" "))
      .map((line) => line.replace(/^.*viewer\//, "")),
  };
}

test(
  "a value that may be missing counts in the strict rooms, and in no other",
  { skip: !HAS_TSC && "npm ci was not run" },
  () => {
    const { status, found } = checked({
      "viewer/state/a.js": FAULT,
      "viewer/maths/b.js": FAULT,
      "viewer/data/c.js": FAULT,
    });
    assert.equal(status, 1);
    assert.deepEqual(found.map((line) => line.slice(0, line.indexOf("("))).sort(), [
      "maths/b.js",
      "state/a.js",
    ]);
    assert.deepEqual(checked({ "viewer/data/c.js": FAULT, "viewer/state/a.js": "export const one = 1;\n" }), {
      status: 0,
      found: [],
    });
  },
);

test("a fault of the configuration is told", { skip: !HAS_TSC && "npm ci was not run" }, () => {
  assert.equal(checked({ "viewer/state/a.js": "export const one = 1;\n" }, { target: "es1" }).status, 1);
});
