/** A pass is computed in the page or by the host: the same answer, and who is asked for what. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { test } from "node:test";

import { fetchChecked } from "../../vitviz/viewer/data/files.js";
import { layerName } from "../../vitviz/viewer/data/layers.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { attentionRows, decodeLayer } from "../../vitviz/viewer/maths/attention.js";
import { createBackend } from "../../vitviz/viewer/passes/backend.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { expectTensor, parseSafetensors, writeSafetensors } from "../../vitviz/viewer/maths/safetensors.js";
import { running } from "../../vitviz/viewer/localengine.js";
import { granted, reasonOf } from "../../vitviz/viewer/text/refusal.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { drained } from "./engine.js";
import { assertClose } from "./fixture.js";

const WEIGHTS = readFileSync(new URL("../../weights/mnist.safetensors", import.meta.url));
const PICTURE = Uint8Array.from({ length: 28 * 28 }, (_, at) => (at * 31) % 256);
const KEY = { name: "mnist", untrained: false, image_size: null };
const MODEL = /** @type {any} */ ({
  key: KEY,
  name: "mnist",
  head: "classes",
  num_classes: 10,
  depth: 3,
  num_heads: 4,
  num_tokens: 50,
  head_dim: 32,
  scale: 32 ** -0.5,
  prefix_tokens: ["cls"],
  embed_dim: 128,
  grid: { rows: 7, cols: 7, patch_height: 4, patch_width: 4 },
  num_parameters: 6e5,
  image: { height: 28, width: 28, channels: 1 },
});
const REMOVE = { kind: "remove", patches: [3, 7] };

const FILES = {
  first: {},
  picture: {},
  "layer-01": { late: true },
  "tokens-02": { late: true },
  "mixing-00": { late: true },
  statistics: { late: true },
  features: { late: true },
  embedding: { late: true },
  lens: { late: true },
  filters: { late: true },
};

const shown = (manifest) =>
  /** @type {any} */ ({
    manifest,
    picture: { here: { pixels: PICTURE }, fetch: async () => {} },
    taken: [],
    take(layers) {
      this.taken.push(layers);
    },
  });
const sourceOf = (model) => shown({ model, pass: { id: "first" } });
const unread = () => new Promise(() => {});
const buffers = (files, name) => fetchChecked(unread, files[name], new AbortController().signal);

/** The backend of a host, where the visitor says no and refusals are thrown. */
const backendOf = (host, { render = () => {}, fetchFile = unread } = {}) =>
  createBackend(
    /** @type {any} */ (host),
    {
      fetchFile,
      noticing: (error) => {
        throw error;
      },
      photos: new PhotoStore(),
      consent: () => assert.fail("the visitor is asked"),
    },
    render,
  );

/** A page with this host, and what was asked of it; `fetches` answers for the weights. */
function page(fetches, weights = { mnist: "https://host/mnist-1234.safetensors" }) {
  const asked = [];
  const fetched = [];
  globalThis.fetch = /** @type {any} */ (
    async (address) => {
      fetched.push(address);
      return fetches();
    }
  );
  let drawn = () => {};
  const backend = backendOf(
    {
      weights,
      running: async () => running,
      operate: async (...question) => {
        asked.push(question);
        return "host";
      },
    },
    { render: () => drawn() },
  );
  const until = (true_) =>
    new Promise((done) => {
      drawn = () => {
        if (true_()) done(undefined);
      };
      drawn();
    });
  return { asked, fetched, backend, until };
}

const ask = (backend, interventions, model = MODEL) =>
  backend.change({ source: sourceOf(model), interventions, layer: 1, token: 5 });

test("the page itself refuses what cannot be done to a model that has learned in it, for no host has it", async () => {
  const { asked, backend, until } = page(async () => new globalThis.Response(WEIGHTS));
  backend.prepare(MODEL, true);
  await until(() => backend.model(MODEL).state === "here");
  const all = [{ kind: "remove", patches: Array.from({ length: 49 }, (_, at) => at) }];
  assert.equal(await ask(backend, all), "host");
  const refused = await ask(backend, all, { ...MODEL, saved_as: "own-cup-pen.safetensors" }).catch(
    (error) => error,
  );
  assert.equal(
    reasonOf(refused, "en"),
    "nothing would be left of the picture; at least one patch has to stay",
  );
  assert.equal(asked.length, 1);
  // Nobody is asked to send a photo for what the host would refuse, too.
  const held = shown({ model: MODEL, pass: { id: "here-1" }, template: {} });
  await assert.rejects(
    backend.change({ source: held, interventions: all, layer: 1, token: 5, other: unread }),
    /nothing would be left of the picture/,
  );
  const donor = [{ kind: "transplant", patches: "cls", layer: 1, from: "example-dog" }];
  const lost = async () => granted(undefined);
  await assert.rejects(
    backend.change({ source: held, interventions: donor, layer: 1, token: 5, other: lost }),
    /the visitor is asked/,
  );
  assert.equal(asked.length, 1);
});

test("what a browser says of its network is said in the language of the page", () => {
  const lost = [
    new TypeError("Failed to fetch"),
    new TypeError("Load failed"),
    Object.assign(new Error("status 503"), { status: 503 }),
    Object.assign(new Error("no file at x.js"), { unanswered: true }),
  ];
  for (const error of lost) assert.equal(reasonOf(error, "en"), "the server does not answer");
  assert.equal(reasonOf(new TypeError("x is not a function"), "en"), "x is not a function");
});

test("why a photo cannot stand beside is said in the language of the page", () => {
  const said = { en: "It is no picture.", ko: "사진이 아닙니다." };
  const unread = Object.assign(new Error("no_picture"), { said });
  assert.deepEqual(
    ["en", "ko", "fr"].map((language) => reasonOf(unread, language)),
    [said.en, said.ko, said.en],
  );
  const lost = Object.assign(new Error("the model did not come"), { modelLost: true });
  assert.deepEqual(
    ["en", "ko"].map((language) => reasonOf(lost, language)),
    ["en", "ko"].map((language) => STRINGS[language].error_network),
  );
});

test("without a host the page names all classes, and refuses what cannot be done in a sentence of every language", async () => {
  const backend = backendOf({
    weights: { mnist: "there" },
    running: async () => running,
    fetchWeights: async () => new Uint8Array(WEIGHTS).buffer,
  });
  const all = Array.from({ length: 49 }, (_, at) => at);
  const refused = (interventions, language) =>
    ask(backend, interventions).then(
      () => "",
      (error) => reasonOf(error, language),
    );
  assert.equal(
    await refused([{ kind: "remove", patches: all }], "en"),
    "nothing would be left of the picture; at least one patch has to stay",
  );
  assert.equal(
    await refused([{ kind: "remove", patches: [3, 49] }], "en"),
    "remove: patches count from 0 to 48 in this model, got 49",
  );
  assert.match(await refused([{ kind: "remove", patches: all }], "ko"), /^[^a-z_]+$/);
  // there are too many for a manifest
  const { pass } = await ask(backend, [REMOVE], { ...MODEL, labels: null });
  assert.deepEqual(
    [...pass.labels],
    Array.from({ length: 10 }, (_, at) => String(at)),
  );
  assert.equal(
    await refused([{ kind: "remove", patches: [3, 3] }], "en"),
    "remove names 3 twice under patches",
  );
  const { en } = running.said({
    key: "experiment.no_kind",
    values: { kinds: ["remove", "keep"], value: { kind: "wish" } },
  });
  assert.equal(en, 'an intervention has a kind, one of remove, keep; got {"kind":"wish"}');
});

test("an intact pass that the host has rounded is computed here, too: where nothing was changed there is no difference", async () => {
  const { backend, until } = page(() => new globalThis.Response(WEIGHTS));
  await ask(backend, [REMOVE]);
  await until(() => backend.model(MODEL)?.state === "here");
  const source = sourceOf(MODEL);
  const late = { kind: "head", layer: 2, head: 1, by: "zero" };
  for (const interventions of [[late], [late, { ...late, head: 0 }]]) {
    const { files } = await backend.change({ source, interventions, layer: 1, token: 5 });
    assert.equal(source.taken.length, 1);
    const changed = decodeLayer(
      await buffers(files, layerName(1)),
      { model: MODEL, pass: { changes: [], removed: [] } },
      1,
    );
    for (const name of ["q", "k", "lse"]) assert.deepEqual(changed[name], source.taken[0][1][name]);
  }
  const here = shown({ model: MODEL, pass: { id: "here-1", here: true } });
  await backend.change({ source: here, interventions: [late], layer: 1, token: 5 });
  assert.deepEqual(here.taken, [], "of a photo that never left the page it is");
});

test("the host answers until the weights have come; then the page does, and asks nobody", async () => {
  const { asked, fetched, backend, until } = page(
    () => new globalThis.Response(WEIGHTS, { headers: { "content-length": String(WEIGHTS.length) } }),
  );
  assert.equal(backend.model(MODEL), undefined);
  assert.equal(await ask(backend, [REMOVE]), "host");
  assert.deepEqual(asked, [[[REMOVE], "first", { layer: 1, token: 5 }]]);
  await until(() => backend.model(MODEL)?.state === "here");
  assert.equal(backend.model(MODEL).share, 1);
  const { pass, files } = await ask(backend, [REMOVE]);
  assert.deepEqual([asked.length, fetched.length], [1, 1]);
  assert.deepEqual(pass, {
    changes: [REMOVE],
    removed: [3, 7],
    first: { layer: 1, token: 5, direction: "from" },
    here: true,
  });
  assert.ok(files[layerName(2)] && files.lens && files["mixing-02"]);
  assert.ok(!files.picture, "the picture is as it was");
  const first = parseSafetensors(await buffers(files, "first"));
  const core = new Core();
  core.load(new Uint8Array(WEIGHTS).buffer);
  assertClose(
    expectTensor(first, "logits", [10]).data,
    core.run({ picture: PICTURE, interventions: [REMOVE] }).logits,
  );
  // The rows that came ahead are those of their layer, without the patches that are gone.
  const layer = decodeLayer(await buffers(files, layerName(1)), { model: MODEL, pass }, 1);
  const rows = attentionRows(layer, 5, "from");
  assertClose(expectTensor(first, "rows", [4, 50]).data, rows, 1e-7);
  for (let head = 0; head < 4; head++) {
    const row = rows.subarray(50 * head, 50 * (head + 1));
    assert.ok(Math.abs(row.reduce((sum, one) => sum + one, 0) - 1) < 1e-5);
    assert.deepEqual([row[4], row[8]], [0, 0]);
  }
});

test("pixels that were changed come along, as they were changed", async () => {
  const { backend, until } = page(() => new globalThis.Response(WEIGHTS));
  await ask(backend, [REMOVE]);
  await until(() => backend.model(MODEL)?.state === "here");
  const black = { kind: "replace", patches: [0], by: "black", seed: 0 };
  const { files } = await ask(backend, [black]);
  const { data } = expectTensor(parseSafetensors(await buffers(files, "picture")), "pixels", [28, 28, 1]);
  assert.deepEqual([...data.subarray(0, 5)], [0, 0, 0, 0, PICTURE[4]]);
  // What cannot be done the host refuses, in every language.
  assert.equal(await ask(backend, [{ kind: "remove", patches: [99] }]), "host");
  assert.equal(
    await ask(backend, [{ kind: "transplant", patches: "cls", layer: 1, from: "example-dog" }]),
    "host",
  );
});

test("models without weights here, twins, other sizes and weights that do not come are the host's", async () => {
  const { asked, fetched, backend, until } = page(() => new globalThis.Response("", { status: 404 }));
  for (const key of [{ name: "other" }, { untrained: true }, { image_size: [56, 56] }]) {
    assert.equal(await ask(backend, [REMOVE], { ...MODEL, key: { ...KEY, ...key } }), "host");
  }
  assert.deepEqual(fetched, []);
  assert.equal(await ask(backend, [REMOVE]), "host");
  await until(() => backend.model(MODEL)?.state === "failed");
  // A connection that broke off may be there again; an address that has nothing is not asked for ever.
  for (let again = 0; again < 4; again++) {
    assert.equal(await ask(backend, [REMOVE]), "host");
    await until(() => backend.model(MODEL)?.state === "failed");
  }
  assert.deepEqual([asked.length, fetched.length], [8, 3]);
});

test("without WebAssembly a large model stays the host's", async (context) => {
  const { WebAssembly: kept } = globalThis;
  context.after(() => {
    globalThis.WebAssembly = kept;
  });
  Object.assign(globalThis, { WebAssembly: undefined });
  const { backend, until } = page(() => new globalThis.Response(WEIGHTS));
  const large = { ...MODEL, num_parameters: 3e6 };
  await ask(backend, [REMOVE], large);
  await until(() => backend.model(MODEL)?.state === "slow");
  assert.equal(await ask(backend, [REMOVE], large), "host");
});

/** A page without a host; `comes`: its weights. */
function alone(comes) {
  const picture = writeSafetensors({ pixels: { shape: [28, 28, 1], data: PICTURE } });
  const backend = backendOf(
    { weights: { mnist: "beside" }, fetchWeights: comes, running: async () => running },
    { fetchFile: async () => picture },
  );
  const manifest = {
    model: MODEL,
    files: FILES,
    pass: { id: "mnist/digit", changes: [], removed: [], first: { layer: 2, token: 0, direction: "from" } },
  };
  return { backend, manifest, completed: backend.completed(manifest) };
}

test("a file that is asked for while its model begins to load waits for the model", async () => {
  let second = null; // by a panel that is drawn because the loading has begun
  const { completed } = alone(async () => {
    second ??= buffers(completed.files, "layer-01");
    return new Uint8Array(WEIGHTS).buffer;
  });
  await buffers(completed.files, "features");
  assert.ok((await /** @type {any} */ (second)).byteLength > 0);
});

test("without a host the page makes the late files of an intact pass, once its model has come", async () => {
  const asked = [];
  const { backend, manifest, completed } = alone(async (address) => {
    asked.push(address);
    return new Uint8Array(WEIGHTS).buffer;
  });
  assert.equal(backend.changes, true);
  assert.deepEqual([completed.files.picture, completed.files.first, asked], [FILES.picture, FILES.first, []]);
  const layer = decodeLayer(await buffers(completed.files, "layer-01"), manifest, 1);
  const core = new Core();
  core.load(new Uint8Array(WEIGHTS).buffer);
  const { layers } = core.run({ picture: PICTURE, interventions: [] });
  assertClose(layer.q, layers[1].q);
  // What it makes is what a writer of pages leaves out: it has them by this pattern.
  const [, pattern] = /MADE = re\.compile\(r"(.*)"\)/.exec(
    readFileSync(new URL("../../vitviz/payload/in_page.py", import.meta.url), "utf8"),
  );
  const late = Object.keys(FILES).filter((name) => FILES[name].late);
  for (const name of late) {
    const made = new RegExp("^(" + pattern + ")$").test(name);
    if (made) assert.ok((await buffers(completed.files, name)).byteLength > 0, name);
    else await assert.rejects(buffers(completed.files, name), { kind: "no_host" }, name);
  }
  assert.deepEqual(asked, ["beside"]);
  const source = shown(completed);
  const { pass } = await backend.change({ source, interventions: [REMOVE], layer: 1, token: 5 });
  assert.deepEqual(pass.removed, [3, 7]);
  // Tokens of another picture, all of them before the first block: the answer is that of the other picture.
  const pixels = PICTURE.map((value) => 255 - value);
  const dog = {
    model: MODEL,
    photo: { name: "dog.jpg" },
    files: {
      picture: { make: async () => writeSafetensors({ pixels: { shape: [28, 28, 1], data: pixels } }) },
    },
  };
  const transplant = { kind: "transplant", patches: "all", layer: 0, from: "example-dog" };
  const asking = {
    source,
    interventions: [transplant],
    layer: 1,
    token: 5,
    other: async (key) => (key === "example-dog" ? dog : assert.fail()),
  };
  const changed = await backend.change(/** @type {any} */ (asking));
  assert.equal(changed.pass.changes[0].from, "dog.jpg, mnist");
  const first = parseSafetensors(await buffers(changed.files, "first"));
  assertClose(expectTensor(first, "logits", [10]).data, core.run({ picture: pixels }).logits, 1e-4);
  assert.deepEqual(expectTensor(first, "donor.0", [28, 28, 1]).data, pixels);
  // Where the other picture cannot be had the wish fails: nobody else is there.
  await assert.rejects(
    backend.change(/** @type {any} */ ({ ...asking, other: async () => ({ ...dog, files: {} }) })),
  );
});

test("where weights do not come what needs them fails, and can be tried again", async () => {
  const comes = [() => Promise.reject(new Error("offline")), async () => new Uint8Array(WEIGHTS).buffer];
  const { completed } = alone(() => comes.shift()?.());
  await assert.rejects(buffers(completed.files, "lens"), { kind: "network" });
  assert.ok((await buffers(completed.files, "lens")).byteLength > 0);
});

test("a page with a host, and a model without weights, leave a manifest as it is", () => {
  const { backend, manifest } = alone(async () => new ArrayBuffer(0));
  const other = { ...manifest, model: { ...MODEL, key: { ...KEY, name: "other" } } };
  for (const same of [other, null, undefined]) assert.equal(backend.completed(same), same);
  const hosted = backendOf({ weights: { mnist: "beside" }, ask: async () => null });
  assert.equal(hosted.completed(manifest), manifest);
});

/** Source of an analysis on the screen, with the parts that explanations read. */
const shownOf = (model, changes = []) =>
  Object.assign(sourceOf(model), {
    manifest: {
      model: { ...model, temperature: 1 },
      pass: { changes, removed: changes.flatMap(({ patches }) => patches) },
    },
    store: { stop: new AbortController() },
    grid: { rows: 7, cols: 7, prefix: 1 },
    disposed: false,
  });

test("explanations and fair tests wait for the weights, and ask nobody", async () => {
  const { asked, backend } = page(() => new globalThis.Response(WEIGHTS));
  const core = new Core();
  core.load(new Uint8Array(WEIGHTS).buffer);
  const source = shownOf(MODEL, [REMOVE]);
  assert.ok(backend.explains(source.manifest));
  const shares = [];
  const fileOf = async (key) => {
    const { buffer } = await backend.answererOf(source)("late", { name: "explain-" + key }, (share) =>
      shares.push(share),
    );
    return Object.fromEntries(
      Object.entries(parseSafetensors(buffer)).map(([name, { data }]) => [name, data]),
    );
  };
  for (const [name, task, cost] of /** @type {[string, any, number[]][]} */ ([
    ["generic-5-3", { explainer: "generic", token: 5, target: 3 }, [1, 1]],
    ["attention-0-any", { explainer: "attention", target: -1 }, [0, 0]],
    ["integrated_gradients-0-3", { explainer: "integrated_gradients", target: 3 }, [32, 32]],
  ])) {
    const {
      values,
      cost: [forward, backward, seconds],
    } = await fileOf(name);
    assertClose(
      values,
      drained(core.work({ picture: PICTURE, interventions: [REMOVE], ...task })).values,
      1e-5,
    );
    assert.deepEqual([forward, backward, seconds > 0], [...cost, true]);
  }
  assert.ok(shares.every((share) => share > 0 && share <= 1));
  // The picture of a pass shows already what was done to its pixels.
  const shuffle = { kind: "shuffle", cells: 1, seed: 2 };
  const { picture: after } = core.run({ picture: PICTURE, interventions: [shuffle] });
  const shuffled = Object.assign(shownOf(MODEL), {
    picture: { here: { pixels: after }, fetch: async () => {} },
  });
  shuffled.manifest.pass.changes = [shuffle];
  const { buffer } = await backend.answererOf(shuffled)("late", { name: "explain-generic-0-3" });
  assertClose(
    expectTensor(parseSafetensors(buffer), "values", [50]).data,
    drained(core.work({ picture: PICTURE, interventions: [shuffle], explainer: "generic", target: 3 }))
      .values,
    1e-5,
  );
  source.explanations = {
    of: ({ key, token, target }) => ({
      here: {
        values: drained(
          core.work({ picture: PICTURE, interventions: [REMOVE], explainer: key, token, target }),
        ).values,
      },
      fetch: async () => {},
    }),
  };
  const question = { explainers: ["generic", "attention"], token: 0, target: 3 };
  const replies = [];
  do replies.push(await backend.answererOf(source)("fair", question));
  while (!replies[replies.length - 1].result && replies.length < 20);
  assert.deepEqual(
    replies.map(({ done }) => done),
    replies.map((_, at) => at + 1),
  );
  const { result, all, done } = replies[replies.length - 1];
  assert.deepEqual(
    [all, done, Object.keys(result.maps), result.removed.length],
    [14, 14, ["centre", "generic", "attention"], 13],
  );
  assert.equal(result.removed[12], 1);
  assert.equal((await backend.answererOf(source)("fair", { ...question, target: 1 })).done, 1);
  assert.deepEqual(asked, []);
});

test("an explainer that Python alone has is the host's, and a page without a host says so", async () => {
  for (const ask of [async () => "host", null]) {
    const backend = backendOf({
      weights: { mnist: "there" },
      running: async () => running,
      ask,
      fetchWeights: async () => new Uint8Array(WEIGHTS).buffer,
    });
    const answer = backend.answererOf(shownOf(MODEL))?.("late", { id: "a", name: "explain-new_one-0-any" });
    if (ask) assert.equal(await answer, "host");
    else await assert.rejects(/** @type {any} */ (answer), { status: "no host" });
  }
});

test("a likeness to a picture that was closed meanwhile is asked of nobody", async () => {
  const backend = backendOf({
    weights: { mnist: "there" },
    running: async () => running,
    fetchWeights: async () => new Uint8Array(WEIGHTS).buffer,
    ask: async () => assert.fail("the host is asked"),
  });
  const source = Object.assign(shownOf(MODEL), { explanations: { other: null } });
  const answer = backend.answererOf(source);
  await assert.rejects(answer("late", { id: "here-1", name: "explain-generic-0-like" }), /no longer/);
  const question = { id: "here-1", explainers: ["generic"], token: 0, target: "like", other: { id: "b" } };
  source.grid = { prefix: 1 };
  source.explanations.other = { asked: { id: "c" } };
  await assert.rejects(answer("fair", question), /no longer/);
});

test("an explanation of an analysis that was closed meanwhile is asked of nobody; another failure is the host's", async () => {
  for (const closes of [true, false]) {
    const backend = backendOf({
      weights: { mnist: "there" },
      running: async () => running,
      fetchWeights: async () => new Uint8Array(WEIGHTS).buffer,
      ask: async () => "host",
    });
    const source = shownOf(MODEL);
    const fetchPicture = async () => {
      source.disposed = closes;
      throw new Error("it was closed");
    };
    source.picture = /** @type {any} */ ({ here: null, fetch: fetchPicture, get: () => null });
    const answer = backend.answererOf(source)("late", { id: "a", name: "explain-generic-0-3" });
    if (closes) await assert.rejects(answer, /it was closed/);
    else assert.equal(await answer, "host");
  }
});

test("what this page does not explain is the host's", async () => {
  const fetched = [];
  const backend = backendOf({
    weights: { mnist: "there" },
    running: async () => running,
    ask: async () => "host",
    fetchWeights: async (address) => {
      fetched.push(address);
      throw new Error("status 404");
    },
  });
  const answer = (source, name, params) => backend.answererOf(source)?.(name, { id: "a", ...params });
  const transplant = { kind: "transplant", patches: "cls", layer: 1, from: "example-dog" };
  for (const source of [
    shownOf({ ...MODEL, key: { ...KEY, untrained: true } }),
    shownOf(MODEL, [transplant]),
    shownOf({ ...MODEL, key: { ...KEY, name: "other" } }),
  ]) {
    assert.equal(backend.explains(source.manifest), false);
    assert.equal(await answer(source, "late", { name: "explain-generic-0-3" }), "host");
  }
  assert.equal(await answer(shownOf(MODEL), "late", { name: "film" }), "host");
  assert.deepEqual(fetched, []);
  assert.equal(await answer(shownOf(MODEL), "fair"), "host"); // the weights do not come
  assert.equal(fetched.length, 1);
});

/** A page whose weights come or do not; `host` is what it has besides. */
function pageOfWeights(host = {}) {
  const page = { requests: 0, comes: false, backend: /** @type {any} */ (null) };
  page.backend = backendOf({
    weights: { mnist: "weights" },
    running: async () => running,
    fetchWeights: async () => {
      page.requests += 1;
      if (!page.comes) throw new Error("status 404");
      return WEIGHTS.buffer.slice(WEIGHTS.byteOffset, WEIGHTS.byteOffset + WEIGHTS.byteLength);
    },
    ...host,
  });
  return page;
}

test("with a host weights are fetched three times, and again where a visitor asks", async () => {
  const page = pageOfWeights({ operate: async () => ({ manifest: {} }) });
  for (let at = 0; at < 5; at++) await page.backend.prepare(MODEL)?.ready;
  assert.equal(page.requests, 3);
  const photo = /** @type {any} */ ({ file: new Blob(["no picture"]), name: "a.png" });
  assert.equal(await page.backend.analyze(/** @type {any} */ ({ model: MODEL }), photo), null);
  assert.equal(page.requests, 4);
  await page.backend.prepare(MODEL)?.ready; // nobody asked
  assert.equal(page.requests, 4);
});

test("without a host weights that did not come rest a while, and are then fetched again", async (context) => {
  let now = 1000;
  context.mock.method(performance, "now", () => now);
  const page = pageOfWeights();
  const remove = () =>
    page.backend.change({ source: sourceOf(MODEL), interventions: [REMOVE], layer: 0, token: 0 });
  for (let at = 0; at < 5; at++) await page.backend.prepare(MODEL)?.ready;
  assert.equal(page.requests, 1); // each failure draws the page, which would ask again
  now += 4000;
  await page.backend.prepare(MODEL)?.ready;
  assert.equal(page.requests, 2);
  // What needs the model now does not wait.
  await assert.rejects(remove(), /could not be fetched/);
  const template = /** @type {any} */ ({ model: MODEL });
  const photo = /** @type {any} */ ({ file: new Blob(["no picture"]), name: "a.png" });
  await assert.rejects(page.backend.analyze(template, photo), { modelLost: true });
  assert.equal(page.requests, 4);
  page.comes = true;
  await remove();
  assert.equal(page.requests, 5);
  page.backend.stop();
});

test("two models of a host whose files have one name are two models", async () => {
  const page = pageOfWeights({ weights: {} });
  page.comes = true;
  const [one, other] = ["best", "best (2)"].map((name) => ({
    ...MODEL,
    key: { ...KEY, name: "best.safetensors" },
    in_page: name,
    weights: "https://host/weights?model=" + name,
  }));
  await page.backend.prepare(one, true).ready;
  await page.backend.prepare(other, true).ready;
  assert.equal(page.requests, 2);
  assert.notEqual(page.backend.model(one).engine, page.backend.model(other).engine);
  page.backend.stop();
});

test("a large model comes unasked only where no host has it", async () => {
  const large = { ...MODEL, num_parameters: 22e6 };
  const hosted = pageOfWeights({ operate: async () => ({ manifest: {} }) });
  hosted.comes = true;
  assert.equal(hosted.backend.prepare(large), undefined);
  await hosted.backend.prepare(large, true).ready;
  assert.equal(hosted.requests, 1);
  const alone = pageOfWeights();
  alone.comes = true;
  await alone.backend.change({ source: sourceOf(large), interventions: [REMOVE], layer: 0, token: 0 });
  assert.equal(alone.requests, 1);
  hosted.backend.stop();
  alone.backend.stop();
});

test("a model that is coming stays, however many others begin meanwhile", async () => {
  const names = [...Array(8).keys()].map((at) => "own-" + at);
  let open = /** @type {any} */ (null);
  const gate = new Promise((done) => {
    open = done;
  });
  const started = async () => ({
    engine: { stop() {} },
    known: { facts: { unknown: [], simd: true } },
  });
  const backend = backendOf({
    weights: Object.fromEntries(names.map((name) => [name, new ArrayBuffer(1)])),
    running: async () => (await gate, { started }),
  });
  const models = names.map((name) => ({ ...MODEL, key: { ...KEY, name } }));
  const coming = models.map((model) => backend.prepare(model));
  open();
  await Promise.all(coming.map(({ ready }) => ready));
  assert.deepEqual(
    models.map((model) => backend.model(model)?.state),
    models.map(() => "here"),
  );
});

test("a model whose engine has stopped for good has failed, and the engines of old models end", async () => {
  const names = [...Array(8).keys()].map((at) => "own-" + at);
  const engines = /** @type {any[]} */ ([]);
  const drawn = [];
  const started = async (buffer, told) => {
    const engine = { stopped: false, stop: () => (engine.stopped = true), told };
    engines.push(engine);
    return { engine, known: { facts: { unknown: [], simd: true } } };
  };
  const backend = backendOf(
    {
      weights: Object.fromEntries(names.map((name) => [name, new ArrayBuffer(1)])),
      running: async () => ({ started }),
    },
    { render: () => drawn.push(1) },
  );
  const modelOf = (name) => ({ ...MODEL, key: { ...KEY, name } });
  for (const name of names) {
    await backend.prepare(modelOf(name))?.ready;
    await backend.prepare(modelOf(names[0]))?.ready; // is used all the time
  }
  assert.deepEqual(
    engines.map(({ stopped }) => stopped),
    [false, true, true, false, false, false, false, false],
  );
  const before = drawn.length;
  engines[0].told({ where: "worker" });
  assert.equal(backend.model(modelOf(names[0]))?.state, "here");
  engines[0].told({ where: "stopped" });
  assert.equal(backend.model(modelOf(names[0]))?.state, "failed");
  assert.equal(drawn.length, before + 1);
});
