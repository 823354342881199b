/** Files: lengths are checked, callers share requests, memory is bounded, disposal aborts. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FileError, explainFailure, fetchChecked } from "../../vitviz/viewer/data/files.js";
import { inSlices } from "../../vitviz/viewer/data/idle.js";
import { LayerStore, MOST_BYTES } from "../../vitviz/viewer/data/layers.js";
import { LazyFile } from "../../vitviz/viewer/data/lazyfile.js";
import { Relevance, readRollouts } from "../../vitviz/viewer/data/relevance.js";
import { reasonText } from "../../vitviz/viewer/parts/waiting.js";
import { refusalOf } from "../../vitviz/viewer/text/refusal.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { assertClose, fixtureOf, until, withFacts } from "./fixture.js";

const { manifest, buffers, expected } = fixtureOf("registers");

function counting(fail = () => null) {
  const asked = [];
  const fetchFile = async (file, signal) => {
    asked.push(file.path);
    await new Promise((resolve) => setTimeout(resolve, 1));
    signal.throwIfAborted();
    const error = fail(file, asked.length);
    if (error instanceof Error) throw error;
    return error ?? buffers[file.path];
  };
  return { asked, fetchFile };
}

test("two callers share one request, and a layer that is here costs none", async () => {
  const { asked, fetchFile } = counting();
  const store = new LayerStore(manifest, fetchFile);
  assert.equal(store.get(2), undefined);
  const [a, b] = await Promise.all([store.ensure(2), store.ensure(2)]);
  assert.equal(a, b);
  assert.equal(await store.ensure(2), a);
  assert.equal(store.get(2), a);
  assert.deepEqual(asked, ["layer-02.safetensors"]);
});

test("the other layers are fetched one after another, the nearest first", async () => {
  const { asked, fetchFile } = counting();
  const store = new LayerStore(manifest, fetchFile);
  await store.ensure(3);
  const seen = [];
  await store.prefetch(3, (layer) => seen.push(layer));
  assert.deepEqual(seen, [2, 4, 1, 0]);
  assert.equal(asked.length, 5);
});

test("too many bytes: nothing ahead, and old layers are let go", async () => {
  const { asked, fetchFile } = counting();
  const sized = (size) =>
    Object.fromEntries(
      Object.entries(manifest.files).map(([name, file]) => [
        name,
        name.startsWith("layer-") ? { ...file, size } : file,
      ]),
    );
  const large = { ...manifest, files: sized(undefined) };
  const store = new LayerStore(large, fetchFile);
  assert.equal(
    store.total,
    4 * 5 * manifest.model.num_tokens * manifest.model.num_heads * manifest.model.head_dim,
    "q and k, two bytes each",
  );
  const giant = (size) => ({ ...manifest, files: sized(size) });
  assert.deepEqual(
    [1, 2, 40].map((times) => new LayerStore(giant((times * MOST_BYTES) / 4), fetchFile).ready.most),
    [4, 2, 2],
  );
  store.total = 2 * MOST_BYTES;
  store.ready.most = 2;
  await store.prefetch(0, () => assert.fail("nothing may be fetched ahead"));
  for (const layer of [0, 1, 0, 2]) await store.ensure(layer);
  assert.deepEqual(
    [0, 1, 2].map((layer) => Boolean(store.get(layer))),
    [true, false, true],
  );
  assert.equal(asked.length, 3);
});

test("a cut-off file is asked for once more, then refused", async () => {
  const file = manifest.files["layer-00"];
  const signal = new AbortController().signal;
  const once = counting((_, count) => (count === 1 ? new ArrayBuffer(0) : null));
  assert.equal((await fetchChecked(once.fetchFile, file, signal)).byteLength, file.size);
  const always = counting(() => new ArrayBuffer(5));
  await assert.rejects(
    fetchChecked(always.fetchFile, file, signal),
    (error) => error.kind === "broken" && error.message === "expected " + file.size + " bytes, got 5",
  );
});

test("gone, unreachable and damaged are told apart", async () => {
  const signal = new AbortController().signal;
  for (const [status, kind] of [
    [403, "expired"],
    [404, "expired"],
    [500, "network"],
    [undefined, "network"],
  ]) {
    const { fetchFile } = counting(() => Object.assign(new Error("no"), { status }));
    await assert.rejects(
      fetchChecked(fetchFile, {}, signal),
      (error) =>
        error instanceof FileError && error.kind === kind && explainFailure(error).key === "error_" + kind,
    );
  }
  assert.equal(explainFailure(new TypeError("x")).key, "error_broken");
});

test("a reason is said in the language of the page, and no browser's English is", async () => {
  const signal = new AbortController().signal;
  const reasonIn = async (language, file, error) => {
    const fails = async () => {
      throw error;
    };
    const failed = await fetchChecked(fails, file(fails), signal).catch((found) => found);
    return reasonText({ t: translator(language), language }, explainFailure(failed));
  };
  const [fetched, made] = [() => ({}), (make) => ({ make })];
  const offline = new TypeError("Failed to fetch http://127.0.0.1/a.js");
  assert.equal(await reasonIn("en", fetched, offline), "the server does not answer");
  assert.equal(await reasonIn("ko", fetched, offline), "서버가 응답하지 않습니다");
  const refused = refusalOf({ error: "too many", errors: { ko: "너무 많습니다" } });
  assert.equal(await reasonIn("en", fetched, refused), "too many");
  assert.equal(await reasonIn("ko", fetched, refused), "너무 많습니다");
  // What this page makes itself fails for its own reasons.
  assert.equal(await reasonIn("en", made, new RangeError("out of memory")), "out of memory");
  const lost = Object.assign(new Error("the model did not come"), { modelLost: true });
  assert.equal(await reasonIn("ko", made, lost), "서버가 응답하지 않습니다");
});

test("after the end nothing arrives", async () => {
  const { fetchFile } = counting();
  const store = new LayerStore(manifest, fetchFile);
  const job = store.ensure(0);
  store.dispose();
  await assert.rejects(job, { name: "AbortError" });
  assert.equal(store.ready.size, 0);
});

test("rollout is built in the background and then answers at once", async () => {
  const { fetchFile } = counting();
  const store = new LayerStore(manifest, fetchFile);
  const { token, layer, first, residual } = expected.rollout_options;
  const question = { token, layer, first, residual, fusion: "mean" };
  const shares = [];
  await new Promise((resolve) => {
    const relevance = new Relevance(store, manifest, { id: "a" }, null, () => {
      shares.push(relevance.share);
      const answer = relevance.of(question);
      if (!answer) return;
      assertClose(answer, expected.rollout.mean, 1e-5);
      assert.equal(relevance.of(question), answer);
      resolve();
    });
    assert.equal(relevance.of(question), null);
  });
  assert.ok(shares.length > 1 && shares.every((share) => share >= 0 && share <= 1));
});

test("every way to fuse heads is there as soon as one of them is", async () => {
  const { fetchFile } = counting();
  const store = new LayerStore(manifest, fetchFile);
  const { token, layer, first, residual } = expected.rollout_options;
  const of = (fusion) => relevance.of({ token, layer, first, residual, fusion });
  const relevance = new Relevance(store, manifest, { id: "a" }, null, () => {});
  await until(() => of("mean"));
  for (const fusion of ["mean", "max", "min"]) assertClose(of(fusion), expected.rollout[fusion], 1e-5);
});

test("too many tokens: the host is asked when a question has rested, and for the newest next", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const tick = async (ms) => {
    context.mock.timers.tick(ms);
    await new Promise(process.nextTick);
  };
  const large = withFacts(manifest, { model: { num_tokens: 1370 } });
  const store = new LayerStore(manifest, counting().fetchFile);
  const asked = [];
  const ask = async (name, params) => {
    asked.push([name, params.token]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { values: new Array(1370).fill(params.token) };
  };
  const base = { layer: 1, first: 0, residual: 0.5, fusion: "max" };
  const relevance = new Relevance(store, large, { id: "a" }, ask, () => {});
  for (const token of [1, 2, 3]) {
    assert.equal(relevance.of({ ...base, token }), null);
    await tick(149); // a slider on its way
  }
  assert.deepEqual(asked, []);
  await tick(1);
  assert.deepEqual(asked, [["rollout", 3]]);
  for (const token of [4, 5]) assert.equal(relevance.of({ ...base, token }), null);
  await tick(150);
  assert.equal(asked.length, 1, "one at a time");
  await tick(50);
  assert.deepEqual(asked, [
    ["rollout", 3],
    ["rollout", 5],
  ]);
  await tick(200);
  assert.deepEqual(
    [3, 5].map((token) => relevance.of({ ...base, token })[7]),
    [3, 5],
  );
  const alone = new Relevance(store, large, { id: "a" }, null, () => {});
  assert.equal(alone.possible, false);
  assert.equal(alone.of({ ...base, token: 1 }), null);
});

test("too many tokens and no host: the rollouts that the page brings, and no others", async () => {
  const large = withFacts(manifest, {
    model: { num_tokens: 1370, depth: 2 },
    pass: { first: { ...manifest.pass.first, token: 0 } },
  });
  const rows = Float32Array.from({ length: 2 * 1370 }, (_, at) => at);
  const header = new TextEncoder().encode(
    JSON.stringify({ rows: { dtype: "F32", shape: [2, 1370], data_offsets: [0, rows.byteLength] } }),
  );
  const parts = [new BigUint64Array([BigInt(header.length)]), header, rows].map(({ buffer: bytes }) =>
    Buffer.from(bytes),
  );
  const buffer = Uint8Array.from(Buffer.concat(parts)).buffer;
  let news = 0;
  const { signal } = new AbortController();
  const file = new LazyFile(
    { path: "rollout" },
    async () => buffer,
    signal,
    (bytes) => readRollouts(bytes, large.model),
    () => {
      news += 1;
    },
  );
  const relevance = new Relevance(
    new LayerStore(manifest, counting().fetchFile),
    large,
    { id: "a" },
    null,
    () => {},
    file,
  );
  const base = { token: 0, layer: 1, first: 0, residual: 0.5, fusion: "mean" };
  assert.equal(relevance.of(base), null, "it is read when it is first needed");
  await until(() => news === 1);
  assert.deepEqual([relevance.of(base)[3], relevance.of({ ...base, layer: 0 })[3]], [1373, 3]);
  for (const other of [{ token: 1 }, { first: 1 }, { residual: 0.4 }, { fusion: "max" }])
    assert.equal(relevance.of({ ...base, ...other }), null);
});

test("a question that fails while another waits says nothing", async () => {
  const ask = async (_, { token }) => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    if (token === 1) throw new Error("busy");
    return { values: new Array(1370).fill(0) };
  };
  const relevance = new Relevance(
    new LayerStore(manifest, counting().fetchFile),
    withFacts(manifest, { model: { num_tokens: 1370 } }),
    { id: "a" },
    ask,
    () => {},
  );
  const of = (token) => relevance.of({ token, layer: 1, first: 0, residual: 0.5, fusion: "mean" });
  of(1);
  await until(() => relevance.asking);
  of(2);
  await until(() => {
    assert.equal(relevance.error, null);
    return of(2);
  });
});

test("a failed question is not asked again and again", async () => {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    throw new Error("busy");
  };
  const large = withFacts(manifest, { model: { num_tokens: 1370 } });
  const question = { token: 1, layer: 1, first: 0, residual: 0.5, fusion: "mean" };
  const store = new LayerStore(manifest, counting().fetchFile);
  const relevance = new Relevance(store, large, { id: "a" }, ask, () => relevance.of(question));
  relevance.of(question);
  await until(() => relevance.error);
  relevance.of(question);
  assert.equal(asked, 1);
  assert.equal(relevance.error.message, "busy");
  relevance.retry();
  await until(() => asked === 2 && relevance.error);
  relevance.of({ ...question, token: 2 });
  assert.equal(relevance.error, null, "that was of another question");
});

test("a reply that holds not one number for each token is told as a failure, not drawn", async () => {
  const list = new Array(1370).fill(0);
  for (const [reply, said] of [
    [list, "no values for 1370 tokens"], // arrays have a method `values`
    [null, "no values for 1370 tokens"],
    [{ values: "0".repeat(1370) }, "no values for 1370 tokens"],
    [{ values: [1, 2] }, "2 values for 1370 tokens"],
    [{ values: list.map((value, at) => (at === 7 ? null : value)) }, "1369 values for 1370 tokens"],
  ]) {
    const relevance = new Relevance(
      new LayerStore(manifest, counting().fetchFile),
      withFacts(manifest, { model: { num_tokens: 1370 } }),
      { id: "a" },
      async () => reply,
      () => {},
    );
    const question = { token: 1, layer: 1, first: 0, residual: 0.5, fusion: "mean" };
    relevance.of(question);
    await until(() => relevance.error ?? relevance.of(question));
    assert.equal(relevance.error?.message, said);
    assert.equal(relevance.of(question), null);
  }
});

test("long work stops when it is told to", async () => {
  const stop = new AbortController();
  let steps = 0;
  const work = inSlices(
    () => {
      steps += 1;
      if (steps === 3) stop.abort();
      return false;
    },
    { signal: stop.signal, sliceMs: 0 },
  );
  await assert.rejects(work, { name: "AbortError" });
  assert.equal(steps, 3);
});
