/** Strokes: what a pen draws stays on the field and bounded. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_POINTS, MOST_STROKES, begun, extended, moved } from "../../vitviz/viewer/state/strokes.js";

test("a stroke begins, goes on, and stays within the field", () => {
  const one = extended(begun([], 0.1, [0.5, -3]), [2, 0.25]);
  assert.deepEqual(one, [{ width: 0.1, points: [[0.5, 0], [1, 0.25]] }]);
  const two = begun(one, 0.2, [0, 0]);
  assert.equal(one.length, 1, "what was before can be taken back");
  assert.equal(two.length, 2);
  assert.deepEqual(extended([], [0, 0]), []);
});

test("nobody draws without end", () => {
  let all = [];
  for (let i = 0; i < MOST_STROKES + 5; i++) all = begun(all, 0.1, [0, 0]);
  assert.equal(all.length, MOST_STROKES);
  for (let i = 0; i < MOST_POINTS + 5; i++) all = extended(all, [0, 0]);
  assert.equal(all.at(-1).points.length, MOST_POINTS);
});

test("arrow keys move the pen by a step, and not out of the field", () => {
  assert.deepEqual(moved([0.5, 0.5], "ArrowRight", 10), [0.6, 0.5]);
  assert.deepEqual(moved([0, 0], "ArrowUp", 10), [0, 0]);
  assert.equal(moved([0, 0], "x", 10), null);
});
