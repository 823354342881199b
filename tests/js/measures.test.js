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

test("directions of nearly the same variance are told apart", () => {
  // Waves of other lengths are at right angles to each other, and so each is a direction of its own.
  const [count, sizes] = [40, [10, 5, 3, 2.9999, 2.9, 2.8, 2.7, 2.6, 2.5, 2.4]];
  const wave = (at, index) => sizes[index] * Math.cos((Math.PI * (at + 0.5) * (index + 1)) / count);
  const points = Float32Array.from({ length: count * sizes.length }, (_, at) =>
    wave(Math.floor(at / sizes.length), at % sizes.length),
  );
  const { scores } = principal(points, sizes.length);
  for (let at = 0; at < count; at++)
    for (let index = 0; index < 3; index++)
      assert.ok(Math.abs(scores[at * 3 + index] - wave(at, index)) < 1e-4, `${at}, ${index}`);
});
