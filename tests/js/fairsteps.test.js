/** Fair tests that the page does itself: each column once, whoever stops a test and begins it again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fairStep } from "../../vitviz/viewer/data/localexplanations.js";
import { FairTest } from "../../vitviz/viewer/data/fairtest.js";

const QUESTION = { explainers: ["one"], token: 0, target: 1 };
const rest = () => new Promise((done) => setTimeout(done, 0));
const MAP = { fetch: async () => {}, here: { values: Float32Array.of(0, 4, 3, 2, 1) } };

/** Two by two patches, of which those that stay say how many they are; `began` hears of each column. */
function tested(began = /** @type {(count: number) => void} */ (() => {})) {
  const columns = [];
  const tasks = [];
  const source = {
    grid: { rows: 2, cols: 2, prefix: 1 },
    manifest: {
      model: { temperature: 1, outputs: "one_of", head: "classes" },
      pass: { changes: [], removed: [], predictions: [{}] },
    },
    picture: { here: { pixels: new Uint8Array(4) } },
    explanations: { of: () => MAP },
    store: { stop: new AbortController() },
  };
  const engine = {
    async work({ kept, ...task }) {
      tasks.push(task);
      columns.push(kept[0].length);
      began(columns.length);
      await rest();
      return kept.map(({ length }) => length);
    },
  };
  const wanted = /** @type {any} */ ({
    engine,
    known: { facts: { config: { global_pool: "token" } } },
    source,
  });
  const made = new FairTest(
    /** @type {any} */ (source.manifest),
    /** @type {any} */ ({}),
    (_name, question) => fairStep(question, wanted),
    source.store.stop.signal,
    () => {},
  );
  return { made, columns, tasks, source };
}

for (const at of [1, 2, 3, 5]) {
  test("a fair test that is stopped in column " + at + " and begun again has each column once", async () => {
    let again = /** @type {Promise<void>|null} */ (null);
    const { made, columns } = tested((count) => {
      if (count > 20) throw new Error("it goes on for ever");
      if (count !== at || again) return;
      made.cancel();
      again = made.run(QUESTION);
    });
    await made.run(QUESTION);
    await again;
    assert.equal(made.error, null);
    assert.deepEqual(columns, [4, 3, 2, 1, 0]);
    assert.deepEqual(made.of(QUESTION)?.result.maps.one.first, [4, 3, 2, 1, 0]);
  });
}

test("a fair test that has its result computes nothing when it is asked again", async () => {
  const { made, columns } = tested();
  await made.run(QUESTION);
  const { result } = /** @type {NonNullable<typeof made.done>} */ (made.done);
  await made.run(QUESTION);
  assert.deepEqual([columns.length, made.error, made.done?.result], [5, null, result]);
});

test("the engine compares with the picture beside, and with no other one", async () => {
  const { made, tasks, source } = tested();
  const pixels = Uint8Array.of(1, 2, 3);
  const explanations = /** @type {any} */ (source.explanations);
  explanations.other = { asked: { id: "cat" }, picture: { fetch: async () => {}, here: { pixels } } };
  const question = { ...QUESTION, target: /** @type {const} */ ("like"), other: { id: "cat" } };
  await made.run(question);
  assert.deepEqual([...new Set(tasks.map(({ target, like }) => [target, like.join()].join()))], ["-1,1,2,3"]);
  assert.equal(made.of(question)?.result.target, null);
  await made.run({ ...question, other: { id: "panda" } });
  assert.match(made.error?.message ?? "", /beside is shown no longer/);
});
