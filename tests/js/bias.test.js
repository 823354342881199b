/** The bias of a score, by hand; operated.test.js holds whole maps to Python's. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { layerOf, scoresOf } from "../../vitviz/viewer/maths/attention.js";
import { biasOf, wayBetween } from "../../vitviz/viewer/maths/bias.js";

const manifest = /** @type {any} */ ({ model: { grid: { rows: 2, cols: 3 }, num_heads: 2, num_tokens: 7 } });
const f32 = (shape, data) => ({ dtype: "F32", shape, data: Float32Array.from(data) });
const bias = f32(
  [18, 2],
  Array.from({ length: 36 }, (_, at) => at),
);

test("ways on 2 x 3 patches: 3 x 5 between them, and three with CLS", () => {
  assert.equal(wayBetween(6, 1, 2, 3), 2 * 5 + 4, "one row further down, two columns further right");
  assert.equal(wayBetween(1, 6, 2, 3), 0);
  assert.equal(wayBetween(4, 4, 2, 3), 7);
  assert.deepEqual([wayBetween(0, 5, 2, 3), wayBetween(5, 0, 2, 3), wayBetween(0, 0, 2, 3)], [15, 16, 17]);
});

test("a bias is of a head, a query and a key; without numbers there is none", () => {
  assert.equal(biasOf({}, manifest), null);
  const own = biasOf({ bias }, manifest);
  assert.deepEqual([own(0, 6, 1), own(1, 6, 1), own(1, 1, 6), own(0, 0, 3)], [28, 29, 1, 30]);
  assert.throws(
    () => biasOf({ bias: f32([17, 2], new Array(34).fill(0)) }, manifest),
    /expected shape \[18,2\]/,
  );
});

test("a bias is added to the scores of a token, and to nothing beside them", () => {
  const one = {
    q: Float32Array.of(1, 2),
    k: Float32Array.of(3, 5),
    tokens: 2,
    dim: 1,
    scale: 0.5,
    bias: (_, query, key) => 10 * query + key,
  };
  for (const [direction, scores] of [
    ["from", [0, 13, 16, 0]],
    ["to", [0, 3.5, 16, 0]],
  ]) {
    const out = new Float64Array(4);
    scoresOf(/** @type {any} */ (one), 0, 1, /** @type {any} */ (direction), out, 1);
    assert.deepEqual([...out], scores);
  }
});

test("a token in another place, and a query that has the row of another or none", () => {
  const places = f32([7], [0, 6, 5, 4, 3, 2, 1]);
  const moved = biasOf({ bias, bias_places: places }, manifest);
  assert.equal(moved(0, 1, 6), 28);
  const dealt = biasOf(
    { bias, bias_places: places, bias_queries: f32([7], [0, 2, 1, -1, 4, 5, 6]) },
    manifest,
  );
  assert.equal(dealt(0, 2, 6), 28);
  assert.equal(dealt(0, 3, 6), 0);
});

test("a layer is made in one place, which alone asks for its bias", () => {
  const isCut = () => false;
  const numbers = { q: Float32Array.of(1), k: Float32Array.of(2), lse: Float32Array.of(3), bias: { bias } };
  const model = { ...manifest.model, head_dim: 4, scale: 0.5 };
  const { bias: own, ...layer } = layerOf(numbers, model, isCut);
  const { q, k, lse } = numbers;
  assert.deepEqual(layer, { q, k, lse, heads: 2, tokens: 7, dim: 4, scale: 0.5, isCut });
  assert.equal(own?.(0, 6, 1), 28);
  assert.equal(layerOf({ ...numbers, bias: {} }, model, null).bias, null);
  const viewer = new URL("../../vitviz/viewer/", import.meta.url);
  const callers = readdirSync(viewer, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".js") && /[^n] biasOf\(/.test(readFileSync(new URL(name, viewer), "utf8")),
  );
  assert.deepEqual(callers, ["maths/attention.js"]);
});
