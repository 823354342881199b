/**
 * Rotary positions in one attention value: by hand. That the numbers are Python's is held by
 * tests/test_snippets.py.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { anglesAt, turnOf } from "../../vitviz/viewer/maths/turn.js";
import { assertClose } from "./fixture.js";

// One layer, two heads, two pairs: the first turns by a quarter for each row, the second by an eighth for
// each column; head 1 half as fast.
const [quarter, eighth] = [Math.PI / 2, Math.PI / 4];
const inside = /** @type {any} */ ({
  layers: 1,
  heads: 2,
  turns: Float32Array.from([0, 0, 0, 0, quarter, 0, quarter / 2, 0, 0, eighth, 0, eighth / 2]),
});

test("an angle is that of the first patch and of every row and column more", () => {
  assertClose(anglesAt(inside, 3, 0, { row: 2, col: 1 }), [2 * quarter, eighth], 1e-6);
  assertClose(anglesAt(inside, 3, 1, { row: 2, col: 1 }), [quarter, eighth / 2], 1e-6);
  assert.deepEqual([...anglesAt(inside, 0, 0, null)], [0, 0], "a prefix token has no place");
});

test("query and key are turned back, and each pair multiplied", () => {
  // Pair 0 is numbers 0 and 2. q = (1, 2) one row down was (2, -1); k = (1, 0) of CLS was not turned.
  const pair = { q: Float32Array.from([1, 1, 2, 0]), k: Float32Array.from([1, 0, 0, 2]) };
  const found = turnOf(inside, 0, 0, pair, { row: 1, col: 0 }, null);
  assertClose(found.q, [2, 1, -1, 0], 1e-6);
  assertClose(found.k, [1, 0, 0, 2], 1e-6);
  assertClose(found.before, [2, 0], 1e-6);
  assertClose(found.after, [1, 0], 1e-6);
});
