/**
 * Features: colours, similarities and outliers are Python's; files are fetched once, failures are reported.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Features, layerFeatures, outliers, readSummary } from "../../vitviz/viewer/data/features.js";
import { fetchOrAsk, fileOf } from "../../vitviz/viewer/data/files.js";
import { similarityScale } from "../../vitviz/viewer/maths/scales.js";
import { FIXTURES, assertClose, fixtureOf } from "./fixture.js";

for (const { name, expected, manifest, grid, buffers } of FIXTURES) {
  const { layer, token } = expected;

  test(name + ": colours, variance, norms and outliers of a layer", () => {
    const summary = readSummary(buffers[manifest.files.features.path], manifest);
    const one = layerFeatures(summary, layer, manifest);
    assertClose(one.colours, expected.feature_colours);
    assertClose(one.explained, expected.feature_explained);
    assertClose(one.norms, expected.feature_norms);
    const { above } = outliers(one.norms.subarray(grid.prefix), expected.outlier_times);
    assert.deepEqual(
      above,
      expected.outliers.flatMap((yes, patch) => (yes ? [patch] : [])),
    );
    assert.ok(above.length > 0);
  });

  test(name + ": likeness of a token to all others", async () => {
    const seen = await opened(manifest, buffers, (features) => features.similarity(layer, token));
    assertClose(seen.result, expected.feature_similarity);
    assertClose([seen.result[token]], [1], 1e-6);
    assert.deepEqual(seen.asked, [`tokens-0${layer}.safetensors`]);
  });
}

test("the PCA behind the last norm is a file of its own, where the model has such a norm", async () => {
  const { manifest, buffers } = fixtureOf("cls");
  const seen = await opened(manifest, buffers, (features) => features.summary(true));
  assert.deepEqual(seen.asked, ["normed.safetensors"]);
  const plain = readSummary(buffers[manifest.files.features.path], manifest);
  assert.notDeepEqual(seen.result.scores, plain.scores);
  assertClose(seen.result.norms, plain.norms);
  const files = Object.fromEntries(Object.entries(manifest.files).filter(([name]) => name !== "normed"));
  const without = await opened({ ...manifest, files }, buffers, (features) => features.summary(true));
  assert.deepEqual([without.features.normed, without.asked], [null, ["features.safetensors"]]);
});

/** Asks until the result is there, as drawing does. */
async function opened(manifest, buffers, ask, fail = null) {
  const asked = [];
  const fetchFile = async (file) => {
    asked.push(file.path);
    await null;
    if (fail) throw fail;
    return buffers[file.path];
  };
  return new Promise((resolve) => {
    const look = () => {
      const result = ask(features);
      if (result || features.error) resolve({ result, asked, features });
    };
    const features = new Features(manifest, fetchFile, new AbortController().signal, look);
    look();
  });
}

const { manifest, buffers } = fixtureOf("registers");

test("hovering costs no request, and old layers are let go", async () => {
  const { asked, features } = await opened(manifest, buffers, (f) => f.similarity(0, 3));
  for (let token = 0; token < manifest.model.num_tokens; token++) features.similarity(0, token);
  assert.equal(asked.length, 1);
  assert.equal(features.similarity(0, 5), features.similarity(0, 5));
  features.units.most = 1;
  features.onProgress = () => {};
  assert.equal(features.similarity(1, 5), null);
  assert.equal(features.similarity(1, 5), null, "still on its way");
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(features.similarity(1, 5));
  assert.deepEqual([...features.units.keys()], [1]);
  assert.equal(asked.length, 2);
});

test("what the host makes when it is asked is read like a file, and a refusal is a failure", async () => {
  const path = manifest.files.features.path;
  const lean = { ...manifest, files: { ...manifest.files, features: { late: true } } };
  const questions = [];
  const host = async (name, question) => {
    questions.push([name, question]);
    if (questions.length === 1) throw new Error("busy");
    return { data: Buffer.from(buffers[path]).toString("base64") };
  };
  const fetchFile = fetchOrAsk(() => assert.fail("no file has an address"), host, { id: "x" });
  const features = await new Promise((resolve) => {
    const made = new Features(lean, fetchFile, new AbortController().signal, () => resolve(made));
    made.summary();
  });
  assert.deepEqual([features.error.kind, features.error.message], ["network", "busy"]);
  features.onProgress = () => {};
  features.retry();
  assert.equal(features.summary(), null);
  await new Promise((resolve) => {
    features.onProgress = () => resolve(null);
  });
  assert.deepEqual(features.summary(), readSummary(buffers[path], manifest));
  assert.deepEqual(questions, Array(2).fill(["late", { id: "x", name: "features" }]));
  assert.equal(fileOf(lean, "statistics").path, manifest.files.statistics.path);
  assert.equal(fileOf({ ...lean, files: {} }, "film"), undefined);
});

test("a failure is kept until another try", async () => {
  const gone = Object.assign(new Error("no"), { status: 403 });
  const { asked, features } = await opened(manifest, buffers, (f) => f.summary(), gone);
  assert.equal(features.error.kind, "expired");
  assert.equal(features.summary(), null);
  assert.equal(asked.length, 1);
  features.onProgress = () => {};
  features.retry();
  assert.equal(features.summary(), null);
  assert.equal(asked.length, 2);
});

test("the median of an even number is between the middle two; all alike has no outlier", () => {
  assert.deepEqual(outliers([1, 9, 3, 1], 2), { median: 2, above: [1] });
  assert.deepEqual(outliers([5, 5, 5], 2), { median: 5, above: [] });
});

test("the scale of likeness leaves prefix tokens out", () => {
  const { min, max } = similarityScale([-1, 0.5, 0.75, 1], { prefix: 1, tokens: 4 });
  assert.deepEqual([min, max], [0.5, 1]);
  assert.ok(similarityScale([1, 1], { prefix: 0, tokens: 2 }).max > 1, "a scale has two ends");
});
