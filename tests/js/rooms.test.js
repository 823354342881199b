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
