/** The sentence of where a changed picture takes over. */

import test from "node:test";
import assert from "node:assert/strict";

import { takeOver } from "../../vitviz/viewer/maths/takeover.js";

const row = (text) => [...text].map((letter) => letter === "x");

test("it is named by the last block for patches, and the first from which CLS always does", () => {
  const both = takeOver(row("xxx..."), row("..x.xx"));
  assert.deepEqual(both, { key: "experimentFoolFoundBoth", values: { last: 2, since: 4 } });
  const patches = takeOver(row("xxxxxx"), row(".x...."));
  assert.deepEqual(patches, { key: "experimentFoolFoundPatches", values: { last: 5, since: 6 } });
  assert.equal(takeOver(row("xx.x"), row("...x")).values.last, 1);
});
