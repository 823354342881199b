/** The page draws what Python draws: integers to the bit, normals to 1e-12. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, USES, philox } from "../../vitviz/viewer/maths/chance.js";
import { DRAWS, assertClose } from "./fixture.js";

test("Philox gives the known answers of its authors", () => {
  assert.equal(DRAWS.known.length, 3);
  for (const [counter, key, words] of DRAWS.known) assert.deepEqual(philox(counter, key), words);
});

test("what is drawn with a seed is a list in the order of Python", () => assert.deepEqual(USES, DRAWS.uses));

for (const { seed, use, integers, below, permutations, uniforms, normals, more } of DRAWS.draws) {
  test("draws for " + use + " with seed " + seed + " are Python's", () => {
    const chance = new Chance(seed, use);
    assert.deepEqual([...chance.integers(integers.length)], integers);
    assert.deepEqual([...chance.below(DRAWS.bounds)], below);
    for (const order of permutations) assert.deepEqual([...chance.permutation(order.length)], order);
    assert.deepEqual([...chance.uniforms(uniforms.length)], uniforms);
    assertClose(chance.normals(normals.length), normals, 1e-12);
    assertClose(chance.normals(more.length), more, 1e-12);
  });
}

test("a seed is a whole number of 32 bits, and a use is one of the list", () => {
  for (const seed of [-1, 2 ** 32, 0.5, NaN, undefined])
    assert.throws(() => new Chance(seed, "noise"), /no chance for noise with seed/);
  assert.throws(() => new Chance(0, "luck"), /no chance for luck/);
});
