/** Strokes: what a pen draws stays on the field and bounded. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  MOST_POINTS,
  MOST_STROKES,
  begun,
  broughtTo,
  extended,
  extentOf,
  liesElsewhere,
  moved,
} from "../../vitviz/viewer/state/strokes.js";
import { assertClose } from "./fixture.js";

test("a stroke begins, goes on, and stays within the field", () => {
  const one = extended(begun([], 0.1, [0.5, -3]), [2, 0.25]);
  assert.deepEqual(one, [
    {
      width: 0.1,
      points: [
        [0.5, 0],
        [1, 0.25],
      ],
    },
  ]);
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

// Two bars of one pen: 0.2 down and 0.1 to the right, in the upper left corner.
const CORNER = [
  {
    width: 0.1,
    points: [
      [0.1, 0.1],
      [0.1, 0.3],
    ],
  },
  {
    width: 0.1,
    points: [
      [0.1, 0.3],
      [0.2, 0.3],
    ],
  },
];
const TAUGHT = { side: 0.7, least: 0.5, most: 0.9, off: 0.1 };
const close = (one, two) => assertClose([one], [two], 1e-9);

test("the extent of strokes is that of their points, and ink lies along them", () => {
  const { side, pen, centre } = extentOf(CORNER);
  close(side, 0.2);
  close(pen, 0.1);
  // Ink of the first bar: .005 at each end, (.1, .1) and (.1, .3), .02 in its middle; of the second: .005 at
  // (.1, .3) and (.2, .3), .01 at (.15, .3).
  close(centre[0], (0.035 * 0.1 + 0.005 * 0.2 + 0.01 * 0.15) / 0.05);
  close(centre[1], (0.005 * 0.1 + 0.02 * 0.2 + 0.025 * 0.3) / 0.05);
});

test("what is moved has the size that was taught, with its pen, and its centre of mass in the middle", () => {
  assert.equal(liesElsewhere(CORNER, TAUGHT), true);
  const there = broughtTo(CORNER, TAUGHT);
  assert.equal(liesElsewhere(there, TAUGHT), false);
  const { side, pen, centre } = extentOf(there);
  close(side + pen, 0.7);
  close(pen, 0.1);
  for (const at of centre) close(at, 0.5);
});

test("each of size and place is enough to lie elsewhere; a dot is moved and not made larger", () => {
  const bar = (x, top, bottom) => [
    {
      width: 0.1,
      points: [
        [x, top],
        [x, bottom],
      ],
    },
  ];
  assert.equal(liesElsewhere(bar(0.5, 0.2, 0.8), TAUGHT), false);
  assert.equal(liesElsewhere(bar(0.65, 0.2, 0.8), TAUGHT), true);
  assert.equal(liesElsewhere(bar(0.5, 0.35, 0.65), TAUGHT), true);
  assert.equal(liesElsewhere(bar(0.5, 0.05, 0.95), TAUGHT), true);
  const [
    {
      width,
      points: [[x, y]],
    },
  ] = broughtTo([{ width: 0.1, points: [[0.9, 0.2]] }], TAUGHT);
  assert.equal(width, 0.1);
  close(x, 0.5);
  close(y, 0.5);
});
