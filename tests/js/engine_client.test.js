/** The client of the engine: newer wishes overtake, and a worker that dies is restarted once. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Overtaken, createEngine } from "../../vitviz/viewer/engine/client.js";
import { Core } from "../../vitviz/viewer/engine/core.js";
import { parcelOf, serving } from "../../vitviz/viewer/engine/serving.js";
import { SelectionError } from "../../vitviz/viewer/engine/surgery.js";
import { FormatError } from "../../vitviz/viewer/maths/safetensors.js";
import { assertClose } from "./fixture.js";
import { MODELS, bytesOf, checkpointOf, drained } from "./engine.js";

const MODEL = MODELS.find(({ name }) => name === "grey");
const picture = bytesOf(MODEL.picture);
const removing = (patch) => ({
  picture,
  interventions: [{ kind: "remove", patches: [patch] }],
  answer: true,
});

/** Workers that answer when they are let, and die when they are told. */
function fakeWorkers() {
  const workers = [];
  const worker = (text, hear, failed) => {
    const serve = serving();
    const made = {
      text,
      asked: [],
      closed: false,
      die: failed,
      answer: async () => hear(await serve(structuredClone(made.asked.shift()))),
      ready: () => hear({ ready: true }),
    };
    workers.push(made);
    return {
      post: (question) => made.asked.push(question),
      close: () => {
        made.closed = true;
      },
    };
  };
  return { workers, worker };
}

/** An engine whose model its first worker has loaded. */
async function started(told) {
  const { workers, worker } = fakeWorkers();
  const engine = createEngine({
    worker: "text",
    ports: { worker, page: null },
    told,
  });
  const loaded = engine.load(checkpointOf(MODEL));
  await workers[0].answer();
  await loaded;
  return { workers, engine };
}

const settled = async (promise) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );

test("without a worker the page computes, and errors are those that were thrown", async () => {
  const engine = createEngine();
  assert.deepEqual(engine.state(), { where: "page", restarts: 0, simd: null });
  await assert.rejects(engine.load(new ArrayBuffer(4)), FormatError);
  const facts = await engine.load(checkpointOf(MODEL));
  assert.deepEqual(facts.unknown, []);
  const intact = await engine.run({ picture });
  assertClose(intact.logits, MODEL.intact.logits, 1e-4);
  const { error } = await settled(
    engine.run({ picture, interventions: [{ kind: "remove", patches: [99] }] }),
  );
  assert.ok(error instanceof SelectionError);
  assert.deepEqual(
    [error.key, error.values],
    ["out_of_range", { kind: "remove", what: "patches", last: 15, value: 99 }],
  );
  const other = await engine.run({ picture: bytesOf(MODEL.other) });
  const transplant = MODEL.cases.find(({ interventions: [one] }) => one.kind === "transplant");
  const pass = await engine.run({
    picture,
    interventions: transplant.interventions,
    donors: { other },
  });
  assertClose(pass.logits, transplant.logits, 1e-4);
  engine.stop();
  await assert.rejects(engine.run({ picture }), /stopped/);
});

test("a newer wish overtakes those that wait in its lane", async () => {
  const { workers, engine } = await started();
  const [begun, old, aside, last] = [
    removing(0),
    removing(1),
    { ...removing(2), lane: "donor" },
    removing(3),
  ].map((one) => settled(engine.run(one)));
  assert.ok((await old).error instanceof Overtaken);
  for (let at = 0; at < 3; at++) await workers[0].answer();
  const logits = await Promise.all([begun, aside, last].map(async (one) => [...(await one).value.logits]));
  const alone = createEngine();
  await alone.load(checkpointOf(MODEL));
  for (const [at, patch] of [0, 2, 3].entries())
    assertClose(logits[at], (await alone.run(removing(patch))).logits, 1e-6);
  assert.equal(workers[0].asked.length, 0);
});

test("a worker that dies is restarted once with its model, and says so; then the engine has stopped", async () => {
  const said = [];
  const { workers, engine } = await started((state) => said.push([state.where, state.restarts]));
  const [begun, waits] = [engine.run({ picture }), engine.run({ ...removing(1), lane: "b" })];
  workers[0].die();
  assert.ok(workers[0].closed);
  for (let at = 0; at < 3; at++) await workers[1].answer(); // the model, and both passes
  assertClose((await begun).logits, MODEL.intact.logits, 1e-4);
  await waits;
  const lost = settled(engine.run({ picture }));
  workers[1].die();
  assert.match((await lost).error.message, /stopped twice/);
  await assert.rejects(engine.run({ picture }), /stopped/);
  assert.deepEqual(said, [
    ["worker", 0],
    ["worker", 1],
    ["stopped", 1],
  ]);
  assert.equal(workers.length, 2);
});

test("a task that was cancelled while it waited is not begun", async () => {
  const { workers, engine } = await started();
  const pass = engine.run({ picture });
  const cancel = new AbortController();
  const task = settled(
    engine.work({ picture, explainer: "occlusion", target: 0 }, { signal: cancel.signal }),
  );
  cancel.abort();
  await workers[0].answer();
  await pass;
  assert.ok((await task).error instanceof Overtaken);
  assert.equal(workers[0].asked.length, 0);
});

test("where a policy forbids workers the page computes, and says so", async () => {
  for (const refuse of ["throw", "later"]) {
    const said = [];
    const { workers, worker } = fakeWorkers();
    const refused = (...wants) => {
      if (refuse === "throw") throw new Error("SecurityError");
      return worker(...wants);
    };
    let serve = /** @type {any} */ (null);
    const page = (hear) => ({
      post: async (question) => hear(await (serve ??= serving())(question)),
      close: () => {},
    });
    const engine = createEngine({
      worker: "text",
      ports: { worker: refused, page },
      told: ({ where }) => said.push(where),
    });
    const loaded = engine.load(checkpointOf(MODEL));
    workers[0]?.die();
    await loaded;
    assertClose((await engine.run({ picture })).logits, MODEL.intact.logits, 1e-4);
    assert.equal(said[0], "page");
  }
});

const OCCLUSION = { picture, target: 1, explainer: "occlusion" };

/** A clock that a slice finds past its end after each pass; with a shorter step, after more of them. */
function withClock(context, step = 100) {
  let now = 0;
  context.mock.method(globalThis.performance, "now", () => (now += step));
}

test("a slice goes on for 30 ms, and a pass that is under way then is the last one of it", async (context) => {
  withClock(context, 8); // it begins at 8 and ends at 38; after the fourth pass it is 40
  const serve = serving();
  await serve({ id: 0, load: checkpointOf(MODEL) });
  const core = new Core();
  core.load(checkpointOf(MODEL));
  const shares = [...core.work(OCCLUSION)];
  const { value } = await serve({
    id: 1,
    task: { number: 1, wish: OCCLUSION },
  });
  assert.equal(shares.indexOf(value.share), 3);
});

test("a model that is loaded ends the paused tasks of the one before, which would keep its memory", async (context) => {
  withClock(context);
  const serve = serving();
  const load = () => serve({ id: 0, load: checkpointOf(MODEL) });
  const shareOf = async () => (await serve({ id: 1, task: { number: 1, wish: OCCLUSION } })).value.share;
  await load();
  const [first, second] = [await shareOf(), await shareOf()];
  assert.ok(second > first);
  await load();
  assert.equal(await shareOf(), first);
});

test("a task goes on in slices, and every pass that is wanted meanwhile goes ahead of it", async (context) => {
  withClock(context);
  const { workers, engine } = await started();
  const shares = [];
  const order = [];
  const task = engine.work(OCCLUSION, { told: (share) => shares.push(share) }).then((made) => {
    order.push("task");
    return made;
  });
  await workers[0].answer();
  const passes = [0, 1].map((patch) =>
    engine.run({ ...removing(patch), lane: "p" + patch }).then(({ removed }) => order.push(removed[0])),
  );
  await workers[0].answer(); // a slice was under way
  for (let at = 0; at < 2; at++) await workers[0].answer();
  await Promise.all(passes);
  assert.deepEqual([order, shares.length], [[0, 1], 2]);
  while (workers[0].asked.length > 0) await workers[0].answer();
  const { values } = await task;
  const core = new Core();
  core.load(checkpointOf(MODEL));
  assertClose(values, drained(core.work(OCCLUSION)).values, 1e-5);
  assert.equal(shares.length, shares.filter((share, at) => share > (shares[at - 1] ?? 0)).length);
});

test("a task that nobody needs any more ends, and one that a dead worker took along begins anew", async (context) => {
  withClock(context);
  const { workers, engine } = await started();
  const stop = new AbortController();
  const given = settled(engine.work(OCCLUSION, { signal: stop.signal }));
  await workers[0].answer();
  stop.abort();
  await workers[0].answer();
  assert.ok((await given).error instanceof Overtaken);
  const task = engine.work({ ...OCCLUSION, explainer: "generic" });
  const wrong = settled(engine.work({ ...OCCLUSION, explainer: "nothing" }));
  workers[0].die();
  for (let at = 0; at < 3; at++) await workers[1].answer(); // the model, and both tasks
  assert.equal((await task).values.length, 17);
  assert.ok((await wrong).error instanceof SelectionError);
  const old = settled(engine.work(OCCLUSION));
  const next = engine.load(checkpointOf(MODEL));
  for (let at = 0; at < 2; at++) await workers[1].answer();
  await next;
  assert.ok((await old).error instanceof Overtaken);
});

test("after a request that cannot be posted the next one is answered", async () => {
  const { workers, worker } = fakeWorkers();
  const choosy = (...all) => {
    const port = worker(...all);
    const post = (question) => {
      if (question.wish?.interventions.length) throw new Error("this bitmap is closed");
      port.post(question);
    };
    return { ...port, post };
  };
  const engine = createEngine({
    worker: "text",
    ports: { worker: choosy, page: null },
  });
  const loaded = engine.load(checkpointOf(MODEL));
  await workers[0].answer();
  await loaded;
  const { error } = await settled(engine.run(removing(1)));
  assert.match(error.message, /closed/);
  const next = engine.run({ picture, answer: true });
  assert.equal(workers[0].asked.length, 1);
  await workers[0].answer();
  assert.equal((await settled(next)).error, undefined);
});

test("a reply is transferred as a copy, and the worker keeps its own numbers", async () => {
  const serve = serving();
  await serve({ id: 1, load: checkpointOf(MODEL) });
  const reply = await serve({ id: 2, wish: { picture } });
  const { copy, transfer } = parcelOf(reply);
  assert.deepEqual(copy, reply);
  assert.ok(transfer.length > 3 * MODEL.config.depth);
  const arrived = structuredClone(copy, { transfer });
  assert.deepEqual(arrived, reply);
  assert.equal(copy.value.logits.length, 0); // it is the page's now
  const again = await serve({ id: 3, wish: { picture, answer: true } });
  assert.deepEqual(again.value.logits, reply.value.logits);
});
