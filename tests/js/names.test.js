/**
 * Names from links and manifests: constructor, __proto__ and the like, which every object has, are names like
 * any other.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { namedIn } from "../../vitviz/viewer/hosts/site.js";
import { createLocalModels } from "../../vitviz/viewer/passes/localmodels.js";
import { besidesOf } from "../../vitviz/viewer/state/comparable.js";
import { hasText, stepName, translator } from "../../vitviz/viewer/text/words.js";

const NAMES = Object.getOwnPropertyNames(Object.prototype);
const BOTH = { dog: "dog.js", digit: "digit.js" };
const SITE = /** @type {any} */ ({
  models: { photos: { examples: BOTH }, digits: { examples: BOTH } },
  examples: { dog: { model: null }, digit: { model: "digits" } },
  start: { model: "photos", example: "dog" },
});

test("a site opens where it begins for a model or an example that it has not", () => {
  const named = (query, photo) => namedIn(SITE, new URLSearchParams(query), photo);
  for (const name of ["", "nobody", ...NAMES]) {
    assert.deepEqual(named({ model: name }), SITE.start, "model " + name);
    assert.deepEqual(named({ model: name }, "own-1"), SITE.start, "model of a photo " + name);
    assert.deepEqual(named({ example: name }), SITE.start, "example " + name);
    assert.deepEqual(named({ model: name, example: "digit" }), { model: "digits", example: "digit" });
    assert.deepEqual(named({ model: "digits", example: name }), { model: "digits", example: "digit" });
  }
  assert.deepEqual(named({ model: "digits", example: "dog" }), { model: "digits", example: "dog" });
  assert.deepEqual(named({ model: "digits" }, "own-1"), { model: "digits", example: "dog", photo: "own-1" });
});

test("a model of such a name has no weights, no title in other languages and no text", () => {
  for (const name of NAMES) {
    const model = /** @type {any} */ ({ key: { name, untrained: false, image_size: null } });
    const models = createLocalModels({ mayBeSlow: false }, () => {});
    assert.deepEqual([models.has(model), models.prepare(model)], [false, undefined]);
    const kept = /** @type {any} */ ({
      model: { title: name, words: { ko: { texts: {} } } },
      photo: { name: "a.png" },
    });
    assert.deepEqual(besidesOf(kept, kept, false).at(-1)?.names, { ko: name });
    assert.equal(hasText(name), false);
    assert.equal(stepName(name, translator("en")), name);
  }
});

test("a model whose weights were let go is still run by the engine that holds them", async () => {
  const weights = { "own-1": new ArrayBuffer(1) };
  const model = /** @type {any} */ ({ key: { name: "own-1", untrained: false, image_size: null } });
  const stopped = [];
  const started = async () => ({
    engine: { stop: () => stopped.push(1) },
    known: { facts: { unknown: [], simd: true } },
  });
  const host = /** @type {any} */ ({ weights, running: async () => ({ started }), mayBeSlow: true });
  const models = createLocalModels(host, () => {});
  const prepared = models.prepare(model);
  await prepared?.ready;
  delete weights["own-1"];
  for (let at = 2; at < 9; at++) {
    const other = /** @type {any} */ ({ key: { name: "own-" + at, untrained: false, image_size: null } });
    weights["own-" + at] = new ArrayBuffer(1);
    await models.prepare(other)?.ready;
    assert.deepEqual([prepared?.state, models.has(model), models.prepare(model)], ["here", true, prepared]);
  }
});
