/**
 * Questions that follow each other: one at a time, of which the newest wins; and one that is asked until
 * there is an answer.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Overtaken, newestOf } from "../../vitviz/viewer/data/newest.js";
import { patiently } from "../../vitviz/viewer/stage/drawing.js";

const rest = () => new Promise(process.nextTick);

test("the newest question wins, and those that it overtakes are never asked", async () => {
  const asked = [];
  const newest = newestOf(
    (question) => new Promise((resolve, reject) => asked.push({ question, resolve, reject })),
  );
  const told = [1, 2, 3].map((question) =>
    newest(question, new AbortController().signal).catch((error) => error),
  );
  await Promise.resolve();
  assert.deepEqual(
    asked.map(({ question }) => question),
    [1],
    "one at a time",
  );
  asked[0].reject(new Error("broken"));
  assert.equal((await told[0]).message, "broken");
  assert.ok((await told[1]) instanceof Overtaken);
  await rest();
  assert.deepEqual(
    asked.map(({ question }) => question),
    [1, 3],
  );
  asked[1].resolve("three");
  assert.equal(await told[2], "three");
});

test("a question that is closed while it waits for its turn is never asked", async () => {
  const asked = [];
  const newest = newestOf((question) => new Promise((resolve) => asked.push({ question, resolve })));
  const stop = new AbortController();
  const told = [1, 2].map((question) => newest(question, stop.signal).catch((error) => error));
  await rest();
  stop.abort();
  asked[0].resolve("one");
  assert.equal(await told[0], "one");
  assert.equal((await told[1]).name, "AbortError");
  assert.deepEqual(
    asked.map(({ question }) => question),
    [1],
  );
  const next = newest(3, new AbortController().signal);
  await rest();
  asked[1].resolve("three");
  assert.equal(await next, "three", "the line goes on");
});

test("a question that nobody answers is asked again, and given up after the third time", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = [];
  const ask = () => new Promise((resolve, reject) => asked.push({ resolve, reject }));
  const told = [];
  const begin = () =>
    patiently(ask).then(
      () => told.push("answered"),
      (error) => told.push(error.message),
    );
  const tick = async (ms) => {
    t.mock.timers.tick(ms);
    await rest();
  };
  begin();
  await tick(9_999);
  assert.equal(asked.length, 1);
  await tick(1);
  assert.equal(asked.length, 2);
  await tick(10_000);
  assert.deepEqual([asked.length, told.length], [3, 0]);
  await tick(10_000);
  assert.deepEqual([asked.length, told.length], [3, 1], "it is given up");
  await tick(60_000);
  assert.equal(asked.length, 3);
  begin();
  asked[3].resolve();
  await tick(60_000);
  assert.deepEqual([asked.length, told[1]], [4, "answered"]);
  begin();
  asked[4].reject(new Error("refused"));
  await tick(60_000);
  assert.deepEqual([asked.length, told[2]], [5, "refused"], "a refusal is an answer");
});
