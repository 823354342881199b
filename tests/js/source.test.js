/** Sources: two analyses in one page are independent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { attentionRows, meanOfHeads } from "../../vitviz/viewer/maths/attention.js";
import { fetchUrl } from "../../vitviz/viewer/data/files.js";
import { Source } from "../../vitviz/viewer/data/source.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { overlayOf } from "../../vitviz/viewer/state/overlays.js";
import { startSelection } from "../../vitviz/viewer/state/state.js";
import { FIXTURES, assertClose, fixtureOf, hostOnly, until } from "./fixture.js";

const [cls, registers] = ["cls", "registers"].map(fixtureOf);

function open({ manifest, buffers }, fetchFile = async ({ path }) => buffers[path]) {
  const source = new Source(manifest, fetchFile, null, () => {
    told += 1;
  });
  let told = 0;
  return { source, told: () => told };
}

/** The overlay of a source with a selection. */
function shown(source, { layer, token }) {
  const selection = { ...startSelection({ ...source.shape, panels: PANELS }), layer, direction: "to" };
  return overlayOf({ source, selection, taste: { scale: "map", colours: "magma" } }, token);
}

test("two sources offer their own numbers, and one that is closed takes nothing from the other", async () => {
  const [one, two] = [cls, registers].map((fixture) => open(fixture).source);
  await Promise.all([one, two].map((source) => source.loaded(false)));
  await Promise.all([one.store.ensure(cls.expected.layer), two.store.ensure(registers.expected.layer)]);
  assertClose(shown(one, cls.expected).values, cls.expected.mean_to, 1e-5);
  assertClose(shown(two, registers.expected).values, registers.expected.mean_to, 1e-5);
  assert.equal(one.positionMap(cls.expected.token), null, "it is fetched when it is first asked for");
  await until(() => one.positions.here);
  assertClose(one.positionMap(cls.expected.token), cls.expected.similarity, 1e-3);
  two.dispose();
  assert.deepEqual([one.disposed, two.disposed, two.store.ready.size], [false, true, 0]);
  assertClose(shown(one, cls.expected).values, cls.expected.mean_to, 1e-5);
  assert.notEqual(one.picture.get(), null);
});

test("beside the intact source only what is new is fetched: what came along is here, layers are asked for", async () => {
  const { source: intact } = open(cls);
  await intact.loaded(false);
  await until(() => intact.positions.get());
  const base64 = (path) => Buffer.from(cls.buffers[path]).toString("base64");
  const { first } = cls.manifest.files;
  const layers = Object.keys(cls.manifest.files).filter((name) => name.startsWith("layer-"));
  const files = {
    ...cls.manifest.files,
    first: { ...first, data: base64(first.path) },
    ...Object.fromEntries(layers.map((name) => [name, { late: true }])),
  };
  const asked = [];
  const ask = async (question, { id, interventions, name }) => {
    asked.push([question, id, interventions, name]);
    return { data: base64(name + ".safetensors") };
  };
  const fetchFile = async (file, signal) =>
    file.data ? fetchUrl(file, signal) : assert.fail("fetched again: " + file.path);
  const second = new Source(
    { ...cls.manifest, files, asked: { id: "b", interventions: [{ kind: "remove" }] } },
    fetchFile,
    hostOnly(ask),
    () => {},
    intact,
  );
  await second.loaded(false);
  assert.equal(second.picture.get(), intact.picture.get());
  assert.notEqual(second.positionMap(cls.expected.token), null);
  assert.deepEqual(asked, []);
  await second.store.ensure(cls.expected.layer);
  assert.deepEqual(asked, [["late", "b", [{ kind: "remove" }], "layer-0" + cls.expected.layer]]);
  assertClose(shown(second, cls.expected).values, cls.expected.mean_to, 1e-5);
  second.dispose();
  assert.equal(intact.disposed, false);
});

test("the layer that is looked at is fetched once, and tells why it is not here", async () => {
  const asked = [];
  let fails = true;
  const { source } = open(cls, async ({ path }) => {
    asked.push(path);
    if (fails && path.startsWith("layer")) throw Object.assign(new Error("no"), { status: 403 });
    return cls.buffers[path];
  });
  await source.loaded(false);
  asked.length = 0;
  const come = () =>
    new Promise((resolve) => {
      source.store.want(() => resolve(null));
    });
  source.store.look(1);
  const first = come();
  source.store.want(() => assert.fail("somebody waits for it already"));
  await first;
  assert.deepEqual([source.failure.layer, source.failure.key, source.expired()], [1, "error_expired", true]);
  source.store.want(() => assert.fail("it has failed"));
  assert.equal(asked.length, 1);
  source.store.look(0);
  assert.equal(source.failure, null, "another layer is looked at");
  fails = false;
  await come();
  assert.ok(source.store.get(0));
  source.store.look(1);
  source.retry();
  await come();
  assert.deepEqual([source.failure, asked.length], [null, 3]);
});

for (const { name, manifest, buffers, layers, grid } of FIXTURES) {
  test(name + ": what is shown first comes ahead of its layer, which gives the same numbers", async () => {
    const asked = [];
    const { source } = open({ manifest, buffers }, async ({ path }) => {
      asked.push(path);
      return buffers[path];
    });
    const { layer, token, direction } = manifest.pass.first;
    await source.loaded(false);
    const start = startSelection({ ...source.shape, panels: PANELS });
    assert.equal(source.showsAhead(start), true, "the viewer begins where the payload says");
    assert.equal(source.showsAhead({ ...start, token: grid.tokens - 1 }), false);
    assert.equal(source.showsAhead({ ...start, layer: 0 }), false);
    assert.equal(source.showsAhead({ ...start, direction: "to" }), false);
    const ahead = source.maps.of(layer, token, direction);
    assert.deepEqual(asked, [manifest.files.first.path, manifest.files.picture.path]);
    assert.equal(source.maps.of(layer, token === 0 ? 1 : 0, direction), null);
    const rows = attentionRows(layers[layer], token, direction);
    // Both are rounded to 32 bits, after sums in another order.
    assertClose(ahead.rows, rows, 1e-6);
    assertClose(ahead.mean, meanOfHeads(rows, manifest.model.num_heads), 1e-6);
  });
}

test("the pixels behind a photograph are not waited for, unless it cannot be had", async () => {
  const files = { ...cls.manifest.files, photograph: { path: "photograph.jpg" } };
  const openWith = (bitmap) => {
    const asked = [];
    // Node decodes no pictures.
    Object.assign(globalThis, { createImageBitmap: bitmap });
    const { source } = open({ ...cls, manifest: { ...cls.manifest, files } }, async ({ path }) => {
      asked.push(path);
      return cls.buffers[path] ?? new ArrayBuffer(3);
    });
    return { source, asked };
  };
  const { source, asked } = openWith(async () => "bitmap");
  await source.loaded(true);
  assert.deepEqual(asked, [files.first.path, "photograph.jpg"]);
  assert.deepEqual([source.photograph.get(), source.picture.here], ["bitmap", null]);
  const broken = openWith(async () => {
    throw new Error("no picture");
  });
  await broken.source.loaded(true);
  assert.deepEqual(broken.asked, [files.first.path, "photograph.jpg", files.picture.path]);
  assert.notEqual(broken.source.picture.here, null);
});

test("an analysis whose first rows or picture cannot be had does not open", async () => {
  for (const lost of ["first", "picture"]) {
    const { path: missing } = cls.manifest.files[lost];
    const { source } = open(cls, async ({ path }) => {
      if (path === missing) throw Object.assign(new Error("no"), { status: 404 });
      return cls.buffers[path];
    });
    await assert.rejects(source.loaded(false), { kind: "expired" });
  }
});
