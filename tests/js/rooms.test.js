/** The rooms of the viewer: imports point only to rooms on the left. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import test from "node:test";

const VIEWER = new URL("../../vitviz/viewer/", import.meta.url);
const ROOMS = ["maths", "data", "state", "lessons", "text", "parts", "panels", "."];

test("rooms import from themselves and from those before them", () => {
  const files = readdirSync(VIEWER, { recursive: true }).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 70);
  for (const file of files) {
    const room = ROOMS.indexOf(dirname(file));
    assert.ok(room >= 0, file + " is in no room");
    const source = readFileSync(new URL(file, VIEWER), "utf8");
    for (const [, target] of source.matchAll(/^(?:import|\} from)[^"]*"([^"]+)";/gm)) {
      const other = dirname(normalize(join(dirname(file), target)));
      assert.ok(ROOMS.indexOf(other) >= 0 && ROOMS.indexOf(other) <= room, file + " imports " + target);
    }
  }
});

test("maths are pure: no page, no clock, no chance of the browser, and nothing that is looked at", () => {
  const files = readdirSync(new URL("maths/", VIEWER));
  assert.ok(files.length > 10);
  const unwanted = /\b(document|window|navigator|fetch|setTimeout|requestAnimationFrame|performance|Date|Math\.random|app|taste|selection|source)\b/;
  for (const file of files) {
    const source = readFileSync(new URL("maths/" + file, VIEWER), "utf8");
    const code = source.replace(/\/\*\*[^]*?\*\/|\/\/[^\n]*|"[^"\n]*"/g, "");
    assert.ok(!unwanted.test(code), file + " uses " + unwanted.exec(code)?.[0]);
    const told = [...source.matchAll(/import\("\.\.\/([^"]+)"\)/g)].map(([, name]) => name);
    assert.deepEqual(told.filter((name) => name !== "types.js"), [], file + " speaks of another room");
  }
});
