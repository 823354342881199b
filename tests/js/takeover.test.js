/** The sentence of where a changed picture takes over. */

import test from "node:test";
import assert from "node:assert/strict";

import { lensOfBoth, takeOver } from "../../vitviz/viewer/maths/takeover.js";

const row = (text) => [...text].map((letter) => letter === "x");

test("it is named by the last block for patches, and the first from which CLS always does", () => {
  const both = takeOver(row("xxx..."), row("..x.xx"));
  assert.deepEqual(both, { key: "experimentFoolFoundBoth", values: { last: 2, since: 4 } });
  const patches = takeOver(row("xxxxxx"), row(".x...."));
  assert.deepEqual(patches, { key: "experimentFoolFoundPatches", values: { last: 5, since: 6 } });
  assert.equal(takeOver(row("xx.x"), row("...x")).values.last, 1);
});

test("the lens of both pictures: from which layer on each has its answer, and the old one beside", () => {
  const line = (index, ...ranks) => ({ index, label: "", probabilities: [], ranks });
  const clean = [line(7, 2, 1, 3, 1), line(3, 1, 2, 1, 2)];
  const changed = [line(3, 1, 2, 1, 1), line(7, 2, 1, 2, 2)];
  const { lines, values } = lensOfBoth(clean, changed, 7, 3);
  assert.deepEqual(values, { clean: 3, changed: 2 });
  assert.deepEqual([lines.clean, lines.after, lines.before], [clean[0], changed[0], changed[1]]);
  assert.deepEqual(Object.keys(lensOfBoth(clean, [changed[0]], 7, 3).lines), ["clean", "after"]);
  assert.equal(lensOfBoth(null, changed, 7, 3), null);
  assert.equal(lensOfBoth(clean, changed, 9, 3), null);
});
