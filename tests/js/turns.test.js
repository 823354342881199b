/** Questions that follow each other: one at a time, and what is wanted meanwhile is asked after it. */

import assert from "node:assert/strict";
import test from "node:test";

import { createTurns } from "../../vitviz/viewer/stage/drawing.js";

test("what is wanted while an answer is on its way is asked once, after it", () => {
  let asked = 0;
  const turns = createTurns(() => { asked += 1; }, () => {});
  turns.wanted();
  turns.wanted();
  turns.wanted();
  assert.equal(asked, 1);
  turns.settled();
  assert.equal(asked, 2);
  turns.settled();
  turns.settled();
  assert.equal(asked, 2);
  turns.wanted();
  assert.equal(asked, 3);
  turns.settled();
});

test("a question that nobody answers is asked again, and given up after the third time", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let [asked, given] = [0, 0];
  const turns = createTurns(() => { asked += 1; }, () => { given += 1; });
  turns.wanted();
  t.mock.timers.tick(9_999);
  assert.equal(asked, 1);
  t.mock.timers.tick(1);
  assert.equal(asked, 2);
  t.mock.timers.tick(10_000);
  turns.wanted(); // it goes with the next
  assert.deepEqual([asked, given], [3, 0]);
  t.mock.timers.tick(10_000);
  assert.deepEqual([asked, given], [3, 1]);
  t.mock.timers.tick(60_000);
  assert.equal(asked, 3);
  turns.wanted();
  turns.settled();
  t.mock.timers.tick(60_000);
  assert.deepEqual([asked, given], [4, 1]);
});
