/** What follows from logits: every example that Python wrote, to 1e-6 and in its order. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { classesByGroup, lensLines, resultsOf } from "../../vitviz/viewer/maths/predictions.js";
import { answerOf } from "../../vitviz/viewer/text/answer.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { EXAMPLES } from "./fixture.js";

/** Asserts that two values have the same parts in the same order, and numbers that differ by 1e-6 at most. */
function assertSame(found, wanted, path) {
  if (typeof wanted === "number")
    assert.ok(Math.abs(found - wanted) <= 1e-6, path + ": " + found + ", not " + wanted);
  else if (wanted === null || typeof wanted !== "object") assert.equal(found, wanted, path);
  else {
    assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort(), path);
    for (const [name, value] of Object.entries(wanted)) assertSame(found[name], value, path + "." + name);
  }
}

for (const { name, classes, labels, logits, by_hand: byHand, ...wanted } of EXAMPLES.results) {
  test(name, () => {
    const { texts, ...others } = wanted;
    const { probabilities, ...found } = resultsOf(
      Float32Array.from(logits),
      classes,
      labels ?? classes.labels,
      5,
    );
    assertSame(found, others, "results");
    const one = resultsOf(Float32Array.from(logits), classes, labels ?? classes.labels, 1);
    assertSame(one.answer, others.answer, "the answer without a list");
    assert.deepEqual(one.predictions, found.predictions.slice(0, 1));
    for (const [language, text] of Object.entries(texts ?? {})) {
      const model = { ...classes, num_classes: logits.length, words: {} };
      const app = {
        language,
        t: translator(language),
        source: { manifest: { model, pass: found, photo: {} } },
      };
      assert.equal(answerOf(/** @type {any} */ (app))?.line, text);
    }
    if (byHand.order)
      assert.deepEqual(
        found.predictions.map(({ index }) => index),
        byHand.order,
      );
    if (classes.outputs === "value") assert.equal(probabilities, null);
    else assert.equal(probabilities?.length, logits.length);
    for (const { index, probability } of found.predictions)
      assert.equal(probabilities?.[index] ?? null, probability);
  });
}

for (const { name, logits, labels, outputs, temperature, k, lines } of EXAMPLES.lenses) {
  test("the lens: " + name + ", " + outputs, () => {
    assertSame(
      lensLines(
        logits.map((row) => Float32Array.from(row)),
        { outputs, temperature },
        labels,
        k,
      ),
      lines,
      "lines",
    );
  });
}

test("classes by group, sorted by name; a thousand are not listed", () => {
  assert.deepEqual(classesByGroup({ labels: ["p", "q", "r"], groups: ["b", "a", "b"] }), [
    { name: "a", labels: ["q"] },
    { name: "b", labels: ["p", "r"] },
  ]);
  assert.deepEqual(classesByGroup({ labels: ["p", "q"], groups: null }), [{ name: "", labels: ["p", "q"] }]);
  assert.deepEqual(classesByGroup({ labels: [], groups: null }), []);
  assert.deepEqual(classesByGroup({ labels: null, groups: null }), []);
  assert.deepEqual(classesByGroup({ labels: Array.from({ length: 121 }, String), groups: null }), []);
});
