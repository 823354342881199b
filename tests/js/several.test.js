/** Means over pictures, their errors, and what maps have in common, by hand. */

import assert from "node:assert/strict";
import test from "node:test";

import { commonWithOthers, inTheMiddle, meanAndError } from "../../vitviz/viewer/maths/several.js";
import { assertClose } from "./fixture.js";

const close = (ours, expected) => assertClose(ours, expected, 1e-12);

test("a mean has the error of its deviation over the root of the number", () => {
  const { mean, error } = meanAndError([
    [1, 4],
    [3, 4],
    [5, 4],
  ]);
  close(mean, [3, 4]);
  close(error, [2 / Math.sqrt(3), 0]); // the deviation of 1, 3, 5 is 2
  assert.deepEqual(meanAndError([[7]]), { mean: [7], error: [NaN] });
});

test("a map is compared with the mean of the others", () => {
  // The others of the third are (1, 0) and (.5, .5): their mean is (.75, .25), of which (0, 1) has .25.
  close(
    commonWithOthers([
      [1, 0],
      [0.5, 0.5],
      [0, 1],
    ]),
    [0.25, 1, 0.25],
  );
  assert.deepEqual(commonWithOthers([[1, 0]]), [NaN]);
  assert.deepEqual(commonWithOthers([]), []);
});

test("the middle is the patches whose centre lies in the middle half of both sides", () => {
  // Of 4 x 4 these are rows and columns 1 and 2; of a row of 6 the two in the middle, for the next ones begin
  // at a quarter.
  const map = Array.from({ length: 16 }, (_, at) => ([5, 6, 9, 10].includes(at) ? 0.15 : 0.4 / 12));
  const { share, even } = inTheMiddle(map, { rows: 4, cols: 4 });
  close([share, even], [0.6, 0.25]);
  close(Object.values(inTheMiddle([0.1, 0.2, 0.1, 0.1, 0.4, 0.1], { rows: 1, cols: 6 })), [0.2, 1 / 3]);
});
