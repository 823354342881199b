/** Shares, strongest tokens, rollout by hand, and the cache of maps. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  attentionOf,
  attentionRows,
  overlap,
  scoresOf,
  shares,
  strongest,
} from "../../vitviz/viewer/maths/attention.js";
import { AttentionMaps } from "../../vitviz/viewer/data/maps.js";
import { pairOf } from "../../vitviz/viewer/maths/pair.js";
import { rolloutRow, rowSums } from "../../vitviz/viewer/maths/rollout.js";
import { FIXTURES, assertClose } from "./fixture.js";

test("shares of the kinds of tokens", () => {
  const names = ["cls_token", "reg_token 1", "reg_token 2"];
  const found = shares([0.5, 0.1, 0.1, 0.2, 0.1], names);
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ["cls", "reg", "patch"],
  );
  assertClose(
    found.map(({ share }) => share),
    [0.5, 0.2, 0.3],
    1e-12,
  );
  const column = shares([1, 0.5, 0.5, 1, 1], names);
  assertClose(
    column.map(({ sum }) => sum),
    [1, 1, 2],
    1e-12,
  );
  assertClose(
    column.map(({ share }) => share),
    [0.25, 0.25, 0.5],
    1e-12,
  );
  assert.deepEqual(
    shares([0, 0], []).map(({ share }) => share),
    [0],
  );
});

test("what two maps have in common is one minus half the sum of their differences", () => {
  const [a, b] = [
    [0.5, 0.3, 0.2, 0],
    [0.1, 0.3, 0.2, 0.4],
  ];
  assertClose([overlap(a, b)], [1 - (0.4 + 0.4) / 2], 1e-12);
  assertClose(
    [overlap(a, a), overlap([1, 0], [0, 1]), overlap([2, 2], [0.5, 0.5]), overlap([0.5, 0.5], [2, 6])],
    [1, 0, 1, 0.75],
    1e-12,
  );
  assert.equal(overlap([0, 0], [0.5, 0.5]), 0);
});

test("strongest partners, largest first, ties to the earlier token", () => {
  assert.deepEqual(strongest([0.1, 0.4, 0.2, 0.4, 0.3], 3), [1, 3, 4]);
  assert.deepEqual(strongest([0.2, 0.1], 5), [0, 1]);
});

test("the dot product takes head sizes that are not a multiple of four", () => {
  const layer = {
    heads: 1,
    tokens: 2,
    dim: 3,
    scale: 1,
    lse: new Float32Array(2),
    q: Float32Array.of(1, 2, 3, 0, 0, 1),
    k: Float32Array.of(0.1, 0.1, 0.1, -1, 0, 0),
  };
  const out = new Float32Array(2);
  attentionOf(layer, 0, 0, "from", out);
  assertClose(out, [Math.exp(0.6), Math.exp(-1)], 1e-6);
});

test("scores from a token and to it by hand, in the second of two heads", () => {
  const layer = {
    heads: 2,
    tokens: 2,
    dim: 3,
    scale: 0.5,
    lse: new Float32Array(4),
    isCut: (_head, query, key) => query === 0 && key === 1,
    q: Float32Array.of(...Array(6).fill(9), 1, 2, 3, 0, 0, 1),
    k: Float32Array.of(...Array(6).fill(9), 1, 0, 1, -1, 0, 2),
  };
  const out = new Float64Array(5);
  scoresOf(layer, 1, 0, "from", out, 1);
  scoresOf(layer, 1, 0, "to", out, 3);
  assert.deepEqual([...out], [0, 2, 2.5, 2, 0.5]);
  const { score, sum, scores, share, cut } = pairOf(layer, 1, 0, 1); // a cut edge has a score and no share
  assert.deepEqual([score, sum, [...scores], share, cut], [2.5, 5, [2, 2.5], 0, true]);
});

test("rollout of two layers that all look at token 1 is .25, .75, 0", () => {
  const matrix = Float32Array.of(0, 1, 0, 0, 1, 0, 0, 1, 0);
  const layer = { matrix, sums: rowSums(matrix, 3) };
  assertClose(rolloutRow([layer, layer], 0, 0.5), [0.25, 0.75, 0], 1e-7);
});

test("rollout of uniform attention has a closed form", () => {
  const tokens = 197;
  const matrix = new Float32Array(tokens * tokens).fill(1 / tokens);
  const layer = { matrix, sums: rowSums(matrix, tokens) };
  const row = rolloutRow(Array(12).fill(layer), 0, 0.5);
  assertClose([row[0], row[1]], [0.005319, 0.0050749], 1e-6);
});

test("rollout goes from the last layer down, not up", () => {
  const make = (...numbers) => ({ matrix: Float32Array.from(numbers), sums: rowSums(numbers, 2) });
  const early = make(0, 1, 0, 1); // all look at token 1
  const late = make(1, 0, 1, 0); // all look at token 0
  assertClose(rolloutRow([early, late], 1, 0), [0, 1], 1e-7);
  assertClose(rolloutRow([late, early], 1, 0), [1, 0], 1e-7);
});

test("a row on which min-fused heads agree on nothing stays at home", () => {
  const layer = { matrix: new Float32Array(4), sums: new Float32Array(2) };
  assertClose(rolloutRow([layer], 1, 0), [0, 1], 0);
});

test("a map is computed once, and different questions do not share an answer", () => {
  const { manifest, layers } = FIXTURES[0];
  let asked = 0;
  const store = {
    get: (layer) => {
      asked += 1;
      return layers[layer];
    },
  };
  const maps = new AttentionMaps(store, manifest.model);
  const first = maps.of(1, 2, "from");
  assert.equal(maps.of(1, 2, "from"), first);
  assert.equal(asked, 1);
  assert.notDeepEqual(maps.of(1, 2, "to").rows, first.rows);
  assert.notDeepEqual(maps.of(0, 2, "from").rows, first.rows);
  assert.deepEqual(
    maps.head(1, 2, "from", 1),
    first.rows.subarray(manifest.model.num_tokens, 2 * manifest.model.num_tokens),
  );
  assert.deepEqual(first.rows, attentionRows(layers[1], 2, "from"));
  assert.equal(new AttentionMaps({ get: () => undefined }, manifest.model).of(0, 0, "from"), null);
});
