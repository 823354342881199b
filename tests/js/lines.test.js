/** Positions of lines and of their names, and the sentence of the logit lens. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  columnAt,
  heightOf,
  nearestLine,
  placeOfColumn,
  rankTicks,
  spread,
  topShare,
} from "../../vitviz/viewer/maths/lines.js";
import { lensSentence } from "../../vitviz/viewer/panels/predictions/lens.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, assertClose } from "./fixture.js";

test("heights of shares and of ranks", () => {
  assert.equal(heightOf(0.75, { min: 0, max: 1 }), 0.25);
  assert.equal(heightOf(2, { min: 0, max: 1 }), 0);
  const ranks = { min: 100, max: 1, log: true };
  assertClose(
    [1, 10, 100].map((rank) => heightOf(rank, ranks)),
    [0, 0.5, 1],
    1e-12,
  );
  assert.equal(heightOf(3, { min: 3, max: 3 }), 0);
});

test("columns and back", () => {
  for (const count of [1, 3, 12]) {
    for (let column = 0; column < count; column++) {
      assert.equal(columnAt(placeOfColumn(column, count), count), column);
    }
  }
  assert.equal(columnAt(-0.2, 3), 0);
  assert.equal(columnAt(1, 3), 2);
});

test("names keep their distance and their order", () => {
  const places = spread([0.5, 0.51, 0.1, 1, 0.99], 0.1);
  const sorted = [...places].sort((a, b) => a - b);
  for (let i = 1; i < sorted.length; i++) assert.ok(sorted[i] - sorted[i - 1] > 0.0999);
  assert.deepEqual(
    [2, 0, 1, 4, 3].map((at) => places[at]),
    sorted,
  );
  assert.ok(sorted[0] >= 0 && sorted[4] <= 1);
  assert.equal(places[2], 0.1);
  const many = spread(Array(30).fill(0), 0.1);
  assert.ok(Math.min(...many) >= -1e-9 && Math.max(...many) <= 1 + 1e-9);
  assert.deepEqual(spread([], 0.1), []);
  assert.deepEqual(spread([0.3], 0.1), [0.3]);
});

test("the nearest line", () => {
  assert.equal(nearestLine([0.1, 0.5, 0.9], 0.6), 1);
  assert.equal(nearestLine([], 0.6), -1);
});

test("the top of a chart of shares", () => {
  assert.deepEqual(
    [[[0.01], [0.01]], [[0.05, 0.03]], [[0.41], [0.2]], [[1]]].map(topShare),
    [0.02, 0.1, 1, 1],
  );
});

test("ticks of ranks", () => {
  assert.deepEqual(rankTicks(100), [1, 10, 100]);
  assert.deepEqual(rankTicks(1000), [1, 10, 100, 1000]);
  assert.deepEqual(rankTicks(7), [1, 7]);
  assert.deepEqual(rankTicks(150), [1, 10, 100]);
  assert.deepEqual(
    [rankTicks(20), rankTicks(21)],
    [
      [1, 10],
      [1, 10, 21],
    ],
    "the last is written where there is room",
  );
});

test("the lens ends with the answer, and its probabilities are Python's", () => {
  for (const { manifest, expected } of FIXTURES) {
    if (manifest.pass.predictions.length === 0) {
      assert.deepEqual(manifest.pass.lens, []);
      continue;
    }
    const last = manifest.model.depth - 1;
    assert.equal(manifest.pass.lens[0].index, manifest.pass.predictions[0].index);
    assertClose(
      manifest.pass.lens.slice(0, 3).map((line) => line.probabilities[last]),
      manifest.pass.predictions.slice(0, 3).map((entry) => entry.probability),
    );
    for (const line of manifest.pass.lens) {
      assertClose(
        line.probabilities,
        expected.lens.map((row) => row[line.index]),
      );
    }
  }
});

test("what the lens says", () => {
  const lens = [
    { label: "dog", probabilities: [0.1, 0.6], ranks: [3, 1] },
    { label: "cat", probabilities: [0.5, 0.2], ranks: [1, 2] },
  ];
  const t = translator("en");
  assert.equal(lensSentence(lens, 1, t), "After layer 1 it would say dog, 60.0%.");
  assert.equal(
    lensSentence(lens, 0, t),
    "After layer 0 it would say cat, 50.0%. " + "Its final answer, dog, stands at 10.0% by then, rank 3.",
  );
  assert.equal(lensSentence(lens, 1, t, true), "After layer 1 it would say dog.", "after a refusal");
  assert.equal(
    lensSentence(lens, 0, t, true),
    "After layer 0 it would say cat. What it would choose in the end, dog, is number 3 by then.",
  );
  const even = lens.map((line) => ({ ...line, ranks: [1, 1] }));
  assert.equal(lensSentence(even, 0, t), "After layer 0 every class is as likely as any other.");
});
