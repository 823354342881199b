/** Positions inside attention: the map around a patch, by hand and against Python. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { insideMap, readInside } from "../../vitviz/viewer/maths/inside.js";
import { colourIndex } from "../../vitviz/viewer/maths/colour.js";
import { writeSafetensors } from "../../vitviz/viewer/maths/safetensors.js";
import { insideFinding, poolFinding } from "../../vitviz/viewer/text/findings.js";
import { translator } from "../../vitviz/viewer/text/words.js";

const grid = /** @type {any} */ ({ rows: 2, cols: 3, prefix: 1, tokens: 7 });
// Two layers of one head; a number says its layer, then how far the query is below and right of the key.
const values = Float32Array.from(
  [0, 100].flatMap((layer) =>
    [-1, 0, 1].flatMap((down) => [-2, -1, 0, 1, 2].map((right) => layer + 10 * down + right)),
  ),
);
const inside = /** @type {any} */ ({ kind: "bias", layers: 2, heads: 1, values, most: 112 });

test("every patch as the key has the number of its way to the query", () => {
  // From row 1, column 0: the patch above right of it is one row up and one column right, so the query is 1
  // below, 1 left.
  assert.deepEqual([...insideMap(inside, 0, 0, { row: 1, col: 0 }, grid)], [10, 9, 8, 0, -1, -2]);
  assert.deepEqual([...insideMap(inside, 1, 0, { row: 0, col: 2 }, grid)], [102, 101, 100, 92, 91, 90]);
  const same = /** @type {any} */ ({ ...inside, layers: 1 });
  assert.deepEqual(
    [...insideMap(same, 1, 0, { row: 0, col: 0 }, grid)],
    [0, -1, -2, -10, -11, -12],
    "one layer stands for all",
  );
});

test("a bias that was not trained yet has the colour of the middle, not that of the least", () => {
  const shape = [2, 1, 3, 5];
  const data = new Float32Array(30);
  const model = { grid: { rows: 2, cols: 3 }, depth: 2, num_heads: 1, head_dim: 4 };
  const read = (numbers) =>
    readInside(writeSafetensors({ bias: { shape, data: numbers } }), /** @type {any} */ ({ model }));
  const { most } = read(data);
  assert.ok(most > 0);
  assert.equal(colourIndex(0, { min: -most, max: most }), 128);
  assert.equal(read(data.map((_, at) => (at === 3 ? -2 : 0.5))).most, 2);
});

test("from how many squares a pool gathers", () => {
  const app = /** @type {any} */ ({
    t: translator("en"),
    taste: {},
    language: "en",
    source: { grid, manifest: { model: { prefix_tokens: ["cls_token"] } } },
  });
  assert.equal(
    poolFinding(app, Float32Array.from([0, 0.1, 0.1, 0.4, 0.1, 0.2, 0.1])),
    "Half of what becomes the answer is gathered from 2 of 6 squares, most from row 0, col 2: 2.8 times an even share.",
  );
});

test("what is found is of the square beside and of the corner across the picture", () => {
  const app = /** @type {any} */ ({ t: translator("en"), source: { grid }, selection: { layer: 0 } });
  assert.equal(
    insideFinding(app, inside, { row: 1, col: 0 }),
    "A square beside this one gets −1.00 on its score, one in the farthest corner 8.00.",
  );
  // of the second head every number is 100 more
  const two = /** @type {any} */ ({ ...inside, layers: 1, heads: 2 });
  assert.equal(
    insideFinding(app, two, { row: 1, col: 0 }),
    "A square beside this one gets 49.00 on its score, one in the farthest corner 58.00, on the average of the heads.",
  );
});
