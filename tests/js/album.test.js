/** An album looks at pictures one after the other: what is broken, too many or not finite ends nothing. */

import assert from "node:assert/strict";
import test from "node:test";

import { errorOf } from "../../vitviz/viewer/engine/client.js";
import { serving } from "../../vitviz/viewer/engine/serving.js";
import { MOST, createAlbum, together } from "../../vitviz/viewer/many/album.js";
import { createMany } from "../../vitviz/viewer/many/sheet.js";
import { MODELS, bytesOf, checkpointOf } from "./engine.js";
import { assertClose } from "./fixture.js";
import { openPage, settled } from "./page.js";

// Two tokens of a model without CLS, but with a register: one layer, one head, of one number each.
const model = /** @type {any} */ ({
  depth: 1,
  num_heads: 1,
  num_tokens: 3,
  head_dim: 1,
  scale: 1,
  prefix_tokens: ["reg_token 1"],
  head: "classes",
  outputs: "one_of",
  labels: { 0: "a", 1: "b" },
  temperature: 1,
  image: { width: 2, height: 1, channels: 1 },
  grid: { rows: 1, cols: 2, patch_height: 1, patch_width: 1 },
});
// Each token gives the register nothing and looks at itself with 3/4, at the other patch with 1/4; the
// register looks at the second patch alone.
const SHARES = [
  [0, 0, 1],
  [0, 0.75, 0.25],
  [0, 0.25, 0.75],
];
const looked = () => {
  // A query and a key of one number each cannot say this: the scores are told by the logs, as a model of
  // three numbers.
  const q = new Float32Array(9).map((_, at) => Math.log(SHARES[Math.floor(at / 3)][at % 3] + 1e-9));
  const k = new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]);
  return { q, k, lse: new Float32Array(3), bias: {} };
};
const wide = { ...model, head_dim: 3 };
const CLS = /** @type {any} */ (MODELS.find(({ name }) => name === "cls"));

/** The error of the engine for a picture whose logits are too large for numbers of 32 bits. */
async function unsound() {
  const serve = serving();
  const load = checkpointOf(CLS, (tensors) => tensors["head.weight"].numbers.fill(3e38));
  await serve({ id: 1, load });
  const { error } = await serve({ id: 2, wish: { picture: bytesOf(CLS.picture) } });
  return errorOf(structuredClone(error)); // as it comes from a worker
}

function album(changed = () => {}) {
  const engine = {
    async run({ picture }) {
      if (picture[0] === 9) throw await unsound();
      if (picture[0] === 8) throw new Error("the engine of this page stopped twice");
      return { logits: Float32Array.of(Math.log(3), 0), layers: [looked()] };
    },
  };
  return createAlbum(
    /** @type {any} */ ({
      engine,
      known: { facts: { preprocess: null, labels: null } },
      model: wide,
      pixelsOf: async (bytes) => bytes,
    }),
    changed,
  );
}

const item = (name, value) =>
  /** @type {any} */ ({
    name,
    manifest: async () => {
      if (value === null) throw new Error("gone");
      return new Uint8Array([value]);
    },
  });

test("examples are those beside the picture that was shown when they were asked for", async (context) => {
  const { body, button } = openPage(context);
  const unsound = Object.assign(new Error("too large"), { kind: "unsound" });
  const engine = { run: async () => Promise.reject(unsound) };
  const runner = { engine, known: { facts: { preprocess: null, labels: null } } };
  const first = { model, itself: { key: "example-dog", kind: "example", name: "dog" } };
  const looked = [];
  const app = {
    language: "en",
    t: (key) => key,
    taste: { colours: "" },
    source: { manifest: first },
    backend: {
      async pixelsOf(manifest) {
        looked.push(manifest);
        app.source = { manifest: { model } }; // a photo of the visitor's is shown from now on
        return new Uint8Array([1]);
      },
    },
    comparisons: {
      besides: () => [{ key: "example-cat", kind: "example", name: "cat" }],
      manifestOf: async (...asked) => asked,
    },
  };
  body.append(createMany(/** @type {any} */ (app), /** @type {any} */ (runner)).root);
  button("The examples").click();
  await settled();
  assert.deepEqual(looked, [first, ["example-cat", undefined, first]]);
});

test("without CLS the map is of all tokens, and of each picture the numbers of its model are kept", async () => {
  const many = album();
  await many.add([item("one", 1)]);
  const [one] = many.done();
  // Of all that three tokens give to the two patches, 0 + .75 + .25 to the first and 1 + .25 + .75 to the
  // second.
  assertClose(one.map, [1 / 3, 2 / 3], 1e-6);
  // A patch gives 1/4 to the other one, a pixel away.
  assertClose(one.distance, [0.25], 1e-6);
  assertClose([one.results.predictions[0].probability], [0.75], 1e-6);
  assert.deepEqual(
    many.tables().distances.rows.map((row) => row.slice(0, 2)),
    [[0, 0]],
  );
});

test("what is lost or not finite is told, and the others go on", async () => {
  const many = album();
  await many.add([item("gone", null), item("odd", 9), item("good", 1)]);
  assert.deepEqual(
    many.broken().map(({ name, told }) => [name, told.key]),
    [
      ["gone", "many_lost"],
      ["odd", "many_unsound"],
    ],
  );
  assert.deepEqual(
    many.done().map(({ name }) => name),
    ["good"],
  );
  assert.deepEqual(
    many.tables().pictures.rows.map(([name, answer]) => [name, answer]),
    [
      ["good", "a"],
      ["gone", ""],
      ["odd", ""],
    ],
  );
});

test("an engine that has stopped ends the album, and what waits goes on later", async () => {
  const many = album();
  await assert.rejects(many.add([item("stops", 8), item("good", 1)]), /stopped twice/);
  assert.deepEqual([many.broken(), many.state().waiting], [[], 2]);
});

test("there is room for so many, it stops when asked, and goes on", async () => {
  let stop = true;
  const many = album(() => {
    if (stop && many.done().length === 2) {
      stop = false;
      many.stop();
    }
  });
  await many.add(Array.from({ length: MOST + 3 }, (_, at) => item(String(at), 1)));
  assert.deepEqual([many.done().length, many.state().over, many.state().waiting], [2, 3, MOST - 2]);
  await many.go();
  assert.equal(many.done().length, MOST);
  assert.equal(together(many.done(), model).error[0][0], 0);
  many.clear();
  assert.deepEqual([many.items(), together([], model)], [[], null]);
});
