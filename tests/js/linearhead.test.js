/** The linear head: worked examples, the slope at its minimum, and pictures that are left out. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { readOf, sidesOf } from "../../vitviz/viewer/maths/halves.js";
import { best, fitted, foldsOf, learned, sharesOf } from "../../vitviz/viewer/learn/linearhead.js";
import { PENALTY } from "../../vitviz/viewer/engine/tables.js";
import { serving } from "../../vitviz/viewer/learn/serving.js";

/** Numbers that look random and are the same each time. @param {number} seed */
function chance(seed) {
  let state = seed;
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648 - 0.5;
  return () => next() + next() + next();
}

/** Pictures of classes around a middle each. @returns {import("../../vitviz/viewer/learn/linearhead.js").Taught} */
function pictures({ classes, each, dim, noise, seed = 1 }) {
  const random = chance(seed);
  const row = (make) => Float32Array.from({ length: dim }, (_, i) => make(i));
  const middles = Array.from({ length: classes }, () => row(random));
  const labels = Array.from({ length: classes * each }, (_, at) => at % classes);
  return {
    vectors: labels.map((label) => {
      const base = row((i) => middles[label][i] + noise * random());
      return [row((i) => base[i] + 0.1 * random()), row((i) => base[i] + 0.1 * random())];
    }),
    labels,
    groups: labels.map((_, at) => at),
    classes,
  };
}

/** @template T @param {Generator<number, T, void>} made @returns {{shares: number[], value: T}} */
function run(made) {
  const shares = [];
  let next = made.next();
  for (; !next.done; next = made.next()) shares.push(/** @type {number} */ (next.value));
  return { shares, value: next.value };
}

const near = (a, b, most) => assert.ok(Math.abs(a - b) <= most, a + " is not " + b);

test("two pictures at 1 and 5: the head is the one that can be worked out by hand", () => {
  const { weight, bias } = fitted({
    vectors: [
      [[1], [1]],
      [[5], [5]],
    ],
    labels: [0, 1],
    groups: [0, 1],
    classes: 2,
  });
  // Standardized they lie at -1 and 1, so W is (-w, w), and the slope 2 PENALTY w - 2 / (1 + exp(2 w)) is 0.
  const w = weight[1] * 2; // their deviation is 2
  near(w, 1 / (PENALTY * (1 + Math.exp(2 * w))), 1e-4);
  near(weight[0], -weight[1], 1e-9);
  near(bias[1], -3 * weight[1], 1e-6); // undecided in the middle, at 3
  const [low, high] = [sharesOf({ weight, bias }, [1]), sharesOf({ weight, bias }, [5])];
  near(low[0], 1 / (1 + Math.exp(-2 * w)), 1e-9);
  near(low[0], high[1], 1e-6);
});

test("it ends where the slope is 0, wherever it began, and a column that never changes counts nothing", () => {
  const taught = pictures({ classes: 3, each: 6, dim: 10, noise: 1 });
  for (const both of taught.vectors) for (const vector of both) vector[4] = 7;
  const { weight, bias } = fitted(taught);
  const rows = taught.vectors.flat();
  const labels = taught.labels.flatMap((label) => [label, label]);
  const column = (i) => rows.map((row) => row[i]);
  for (let k = 0; k < 3; k++) {
    const off = rows.map((row, at) => sharesOf({ weight, bias }, row)[k] - Number(labels[at] === k));
    near(off.reduce((sum, x) => sum + x, 0) / rows.length, 0, 1e-6);
    for (let i = 0; i < 10; i++) {
      const mean = column(i).reduce((sum, x) => sum + x, 0) / rows.length;
      const std = Math.sqrt(column(i).reduce((sum, x) => sum + (x - mean) ** 2, 0) / rows.length);
      if (i === 4) near(weight[k * 10 + i], 0, 1e-9);
      else
        near(
          off.reduce((sum, x, at) => sum + (x * (rows[at][i] - mean)) / std, 0) / rows.length +
            PENALTY * weight[k * 10 + i] * std,
          0,
          1e-6,
        );
    }
  }
  const other = fitted(taught, { weight: weight.map((x, at) => x + at / 30), bias: bias.map((x) => x + 1) });
  weight.forEach((value, at) => near(value, other.weight[at], 1e-4));
  bias.forEach((value, at) => near(value, other.bias[at], 1e-4));
});

test("groups are left out in turn, and a class of one group is not", () => {
  const labels = [0, 1, 0, 0, 1, 2, 2];
  assert.deepEqual(foldsOf({ labels, groups: ["a", "b", "a", "c", "d", "e", "e"] }), [
    0,
    0,
    0,
    1,
    1,
    null,
    null,
  ]);
  const many = foldsOf({ labels: new Array(23).fill(0), groups: Array.from({ length: 23 }, (_, at) => at) });
  assert.deepEqual([many[9], many[10], many[22]], [9, 0, 2]);
});

test("what is said of pictures left out follows from the answers to them", () => {
  const taught = pictures({ classes: 3, each: 12, dim: 12, noise: 2 });
  const { shares: told, value: found } = run(learned(taught));
  assert.equal(told.length, 10);
  assert.ok(told.every((share, at) => share > (told[at - 1] ?? 0) && share < 1));
  assert.deepEqual(found.count, [12, 12, 12]);
  const answers = found.shares.map((shares) => best(/** @type {number[]} */ (shares)));
  for (let label = 0; label < 3; label++)
    assert.equal(
      found.right[label],
      answers.filter((one, at) => one === label && taught.labels[at] === label).length,
    );
  const wrong = 36 - found.right.reduce((sum, count) => sum + count, 0);
  assert.ok(wrong > 0 && wrong < 24);
  const least = found.shares
    .map((shares) => Math.max(.../** @type {number[]} */ (shares)))
    .sort((a, b) => a - b);
  assert.equal(found.threshold, least[1]); // 5 % of 36 is one
  const pair = /** @type {NonNullable<typeof found.pair>} */ (found.pair);
  const [one, other] = pair.classes;
  const confused = (from, to) => answers.filter((a, at) => a === to && taught.labels[at] === from).length;
  assert.equal(pair.times, confused(one, other) + confused(other, one));
  for (const [a, b] of [
    [0, 1],
    [0, 2],
    [1, 2],
  ])
    assert.ok(confused(a, b) + confused(b, a) <= pair.times);
  assert.deepEqual(
    pair.pictures.map((at) => taught.labels[at]),
    [one, other],
  );
  for (const [at, share] of found.shares.entries())
    if (taught.labels[at] === one)
      assert.ok(
        /** @type {number[]} */ (share)[other] <= /** @type {any} */ (found.shares[pair.pictures[0]])[other],
      );
});

test("a left-out answer does not know its picture: labels of chance are answered by chance", () => {
  const taught = pictures({ classes: 2, each: 20, dim: 60, noise: 1, seed: 3 });
  const random = chance(5);
  const blind = { ...taught, labels: taught.labels.map(() => Number(random() > 0)) };
  const { value } = run(learned(blind));
  const right = value.right[0] + value.right[1];
  assert.ok(right < 30, right + " of 40");
  const known = blind.vectors.filter(
    ([vector], at) => best(sharesOf(value.head, vector)) === blind.labels[at],
  );
  assert.equal(known.length, 40); // it has learned them by heart
});

test("one picture of each: a head, but nothing is said of how good it is", () => {
  const { value } = run(learned(pictures({ classes: 2, each: 1, dim: 5, noise: 0 })));
  assert.deepEqual([value.count, value.threshold, value.pair], [[0, 0], null, null]);
  assert.equal(value.head.weight.length, 10);
});

test("the worker answers with the same numbers, and tells how far it is", () => {
  const taught = pictures({ classes: 2, each: 5, dim: 8, noise: 1 });
  const told = [];
  const reply = serving(
    (event) => told.push(event),
    () => {},
  )({ id: 7, what: "teach", of: taught });
  assert.deepEqual(reply, { id: 7, value: run(learned(taught)).value });
  assert.deepEqual(
    told.map((event) => "taught" in event),
    [true, true, true, true, true],
  );
});

test("head, folds, answers and figures are those of Python", () => {
  const file = new URL("fixture/teach/teach.json", import.meta.url);
  const cases = Object.entries(JSON.parse(readFileSync(file, "utf8")));
  assert.ok(cases.length > 2);
  for (const [name, of] of cases) {
    assert.equal(of.penalty, PENALTY);
    const vectors = of.vectors.map((vector, at) => [vector, of.mirrored[at]]);
    const { labels, groups, classes } = of;
    const { value } = run(learned({ vectors, labels, groups, classes }));
    assert.deepEqual(
      foldsOf({ labels, groups }),
      of.folds.map((fold) => (fold < 0 ? null : fold)),
      name,
    );
    value.head.weight.forEach((x, at) => near(x, of.weight.flat()[at], 1e-4));
    value.head.bias.forEach((x, at) => near(x, of.bias[at], 1e-4));
    value.shares.forEach((shares, at) => {
      if (shares === null) assert.equal(of.left_out[at], null);
      else shares.forEach((share, k) => near(share, of.left_out[at][k], 1e-4));
    });
    assert.deepEqual(value.confusions, of.confusions);
    const sum = (counts) => counts.reduce((total, count) => total + count, 0);
    assert.deepEqual([sum(value.right), sum(value.count)], [of.right, of.of]);
    near(value.threshold ?? 0, of.threshold, 1e-4);
  }
});

test("changed pictures are answered by the head that has not learned from them", () => {
  const taught = pictures({ classes: 3, each: 4, dim: 5, noise: 1 });
  const plain = [...learned(taught)].length;
  const steps = learned({ ...taught, changed: taught.vectors });
  let [count, found] = [0, steps.next()];
  for (; !found.done; found = steps.next()) count += 1;
  assert.equal(count, plain);
  const { shares, changed } = /** @type {import("../../vitviz/viewer/learn/linearhead.js").Learned} */ (
    found.value
  );
  assert.deepEqual(
    changed.map(([same]) => same),
    shares,
  );
  assert.notDeepEqual(changed[0][1], shares[0]); // that of the mirror image
});

test("the middle and the rim are half of the patches each", () => {
  assert.deepEqual(sidesOf({ rows: 4, cols: 4 }), {
    middle: [1, 2, 4, 5, 6, 7, 9, 10],
    rim: [0, 3, 8, 11, 12, 13, 14, 15],
  });
  assert.deepEqual(sidesOf({ rows: 2, cols: 3 }), { middle: [0, 1, 4], rim: [2, 3, 5] });
  assert.deepEqual(sidesOf({ rows: 3, cols: 3 }), { middle: [1, 3, 4, 5], rim: [0, 2, 6, 8] });
});

test("a half is named only for a clear difference", () => {
  const reads = (right, withoutMiddle, withoutRim) => readOf({ right, withoutMiddle, withoutRim });
  assert.deepEqual(
    [reads(10, 10, 0), reads(10, 0, 10), reads(10, 8, 10), reads(2, 1, 2), reads(8, 6, 8), reads(0, 0, 0)],
    ["rim", "middle", "both", "both", "middle", "nothing"],
  );
});
