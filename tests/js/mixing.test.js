/** What a head adds to a token: by hand, and the numbers of Python for every small model. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Source } from "../../vitviz/viewer/data/source.js";
import { attentionRows } from "../../vitviz/viewer/maths/attention.js";
import { lengthOf, mixOf, readMixing, valueOf } from "../../vitviz/viewer/maths/mixing.js";
import { FIXTURES, assertClose, fixtureOf, hostOnly } from "./fixture.js";

test("a sum for the board", () => {
  // Two heads of one number, two tokens of two numbers. Head 0 writes on the first number, 1 on both.
  const mixing = {
    before: Float32Array.of(0, 0, 1, 2),
    v: Float32Array.of(2, 4, 1, 5),
    gain: Float32Array.of(1, 10),
    out: Float32Array.of(3, 0, 1, 2),
    rest: Float32Array.of(0, 1),
    norms: Float32Array.of(0, 0),
    heads: 2,
    tokens: 2,
    dim: 1,
    width: 2,
  };
  const rows = Float32Array.of(0.5, 0.5, 0.25, 0.75); // of token 1: the mixes are 3 and 4
  const found = mixOf(mixing, rows, 1, 1);
  assert.deepEqual(
    [found.mixed, found.added, found.change, found.after].map((values) => [...values]),
    [[4], [40, 80], [130, 81], [131, 83]],
  );
  const total = 130 ** 2 + 81 ** 2;
  assertClose(found.shares, [(90 * 130) / total, (40 * 130 + 80 * 81) / total, 81 / total], 1e-6);
  assertClose([found.cosine], [11680 / Math.sqrt(8000 * total)], 1e-6);
  assert.deepEqual([...valueOf(mixing, 1, 0)], [1]);
  assert.equal(lengthOf([3, 4]), 5);
});

test("of heads that add nothing shares and cosine are 0, and no strange numbers", () => {
  const mixing = {
    before: Float32Array.of(1, 2),
    v: Float32Array.of(3, 4),
    gain: Float32Array.of(1),
    out: new Float32Array(4),
    rest: new Float32Array(2),
    norms: Float32Array.of(0),
    heads: 2,
    tokens: 1,
    dim: 1,
    width: 2,
  };
  const { shares, cosine, after } = mixOf(mixing, Float32Array.of(1, 1), 0, 0);
  assert.deepEqual([...shares, cosine, ...after], [0, 0, 0, 0, 1, 2]);
});

for (const { name, expected, manifest, layers, buffers } of FIXTURES) {
  const { layer, head, token, mix } = expected;

  test(name + ": from the values to the token", () => {
    const mixing = readMixing(buffers["mixing-" + String(layer).padStart(2, "0") + ".safetensors"], manifest);
    const found = mixOf(mixing, attentionRows(layers[layer], token, "from"), head, token);
    for (const part of ["mixed", "added", "change", "before", "after"])
      assertClose(found[part], mix[part], 1e-4);
    assertClose([found.shares[head], found.cosine], [mix.share, mix.cosine], 1e-4);
    assertClose([found.shares.reduce((sum, share) => sum + share)], [1], 1e-5);
    assertClose([mixing.norms[token]], [mix.normed], 1e-4);
    // In half precision it is the model's own number to about three digits.
    const off = lengthOf(found.added.map((value, i) => value - mix.exact_added[i]));
    assert.ok(off < 3e-3 * lengthOf(mix.exact_added), String(off));
  });
}

test("the values of a layer are fetched when they are looked at, once, and old ones are let go", async () => {
  const { manifest, buffers } = fixtureOf("registers");
  const asked = [];
  const come = () => source.mixings.get(0)?.here && source.mixings.get(1).here && told();
  let told = () => {};
  const here = new Promise((resolve) => {
    told = () => resolve(null);
  });
  const source = new Source(
    { ...manifest, files: { ...manifest.files, "mixing-00": { late: true } } },
    async ({ path }) => {
      asked.push(path);
      return buffers[path];
    },
    hostOnly(async (question, { name }) => {
      asked.push(question + " " + name);
      return { data: Buffer.from(buffers[name + ".safetensors"]).toString("base64") };
    }),
    () => come(),
  );
  await source.loaded(false);
  asked.length = 0;
  assert.equal(source.mixing(0).get(), null);
  assert.equal(source.mixing(1).get(), null);
  await here;
  assert.equal(source.mixing(0).get().heads, 2);
  assert.equal(source.mixing(0).get(), source.mixing(0).get());
  assert.deepEqual(asked, ["late mixing-00", "mixing-01.safetensors"]);
  assert.equal(source.mixing(7).exists, false);
  for (let layer = 1; layer < 9; layer++) source.mixing(layer);
  assert.equal(source.mixings.size, 6);
  assert.equal(source.mixing(0).here, null);
});
