/**
 * Statistics of heads and features of tokens that the page computes are those of the files that Python made.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readStatistics } from "../../vitviz/viewer/data/analysis.js";
import { headStatistics, normsOf, principal, unitRowsOf } from "../../vitviz/viewer/maths/measures.js";
import { FIXTURES, OPERATED, assertClose } from "./fixture.js";

const ways = [...FIXTURES, ...OPERATED];

for (const [at, { name, manifest, grid, buffers, layers }] of ways.entries()) {
  const { statistics } = manifest.files;
  if (!statistics) continue;
  test("statistics of the heads of " + name + " " + at, () => {
    const { entropy, distance } = readStatistics(buffers[statistics.path], manifest);
    layers.forEach((layer, of) => {
      const found = headStatistics(layer, grid, manifest.pass.removed);
      assertClose(found.entropy, Float32Array.from(entropy[of]), 2e-3); // of q and k in half precision
      assertClose(found.distance, Float32Array.from(distance[of]), 2e-3 * distance[of][0]);
    });
  });
}

test("rows of length 1, and of length 0", () => {
  assert.deepEqual([...normsOf(Float32Array.from([3, 4, 0, 0]), 2)], [5, 0]);
  assert.deepEqual(
    [...unitRowsOf(Float32Array.from([3, 4, 0, 0]), 2)],
    [...Float32Array.from([0.6, 0.8, 0, 0])],
  );
});

test("the directions in which points differ most, by hand: along an ellipse", () => {
  const points = Float32Array.from([4, 0, -4, 0, 0, 1, 0, -1]);
  const { scores, explained, range } = principal(points, 2);
  assertClose(scores, [4, 0, 0, -4, 0, 0, 0, 1, 0, 0, -1, 0], 1e-6);
  assertClose(explained, [32 / 34, 2 / 34, 0]);
  assertClose(range, [-3.88, -0.97, 0, 3.88, 0.97, 0]);
  assert.deepEqual([...principal(new Float32Array(6).fill(2), 3).scores], [0, 0, 0, 0, 0, 0]);
});
