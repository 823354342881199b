/**
 * The client of the learner: it plays, pauses within a step, and goes on in the page where there is no
 * worker.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createLearner } from "../../vitviz/viewer/learn/client.js";
import { serving } from "../../vitviz/viewer/learn/serving.js";
import { rightOf } from "../../vitviz/viewer/learn/defaults.js";
import { SETTINGS, noise } from "./learner.js";

const LONG = { ...SETTINGS, epochs: 500 };

/** Workers of which each step waits until it is let. */
function fakeWorkers() {
  const workers = [];
  const worker = (text, hear, failed) => {
    const later = [];
    const serve = serving(
      (event) => hear(structuredClone(event)),
      (run) => later.push(run),
    );
    const made = {
      asked: [],
      later,
      closed: false,
      die: failed,
      ready: () => hear({ ready: true }),
      answer: () => hear(structuredClone(serve(structuredClone(made.asked.shift())))),
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

test("without a worker the page learns, and tells to the end how far it is", async () => {
  const all = [];
  let end;
  const over = new Promise((resolve) => {
    end = resolve;
  });
  const learner = createLearner({
    told: (told) => {
      all.push(told);
      if (told.state === "done") end();
    },
  });
  assert.equal(learner.where(), "page");
  await assert.rejects(learner.measure(), /no run has begun/);
  await assert.rejects(learner.begin({ ...SETTINGS, batch: 21 }, noise()), RangeError);
  const { parameters, steps, simd } = await learner.begin(SETTINGS, noise());
  assert.deepEqual([parameters, steps, simd], [7731, 10, true]);
  assert.deepEqual(all, []);
  const first = await learner.step();
  assert.deepEqual([first.state, first.step, first.steps], ["paused", 1, 10]);
  await learner.play();
  await over;
  const last = all[all.length - 1];
  assert.deepEqual([last.state, last.step], ["done", 10]);
  assert.ok(last.seconds > 0 && last.rate < SETTINGS.lr);
  assert.deepEqual([(await learner.step()).step, (await learner.play()).state], [10, "done"]);
  const { right, probabilities } = await learner.measure(7);
  assert.equal(probabilities.length, 21);
  assert.equal(right, rightOf(probabilities, noise().test.labels.subarray(0, 7)));
  assert.ok((await learner.weights()).byteLength > 4 * parameters);
  assert.equal((await learner.apart(3)).index, 3);
  learner.stop();
  assert.equal(all[all.length - 1].state, "stopped");
  await assert.rejects(learner.step(), /stopped/);
});

test("a pause takes effect within a step, and no two plays run at once", async () => {
  const { workers, worker } = fakeWorkers();
  const learner = createLearner({ worker: "text", ports: { worker, page: null } });
  const [made] = workers;
  const answered = (asked) => {
    made.answer();
    return asked;
  };
  const goOn = () => made.later.shift()();
  await answered(learner.begin(LONG, noise()));
  await answered(learner.play());
  for (let step = 0; step < 5; step++) goOn();
  assert.deepEqual([(await answered(learner.pause())).step, made.later.length], [5, 1]);
  goOn();
  assert.equal(made.later.length, 0);
  assert.equal((await answered(learner.step())).step, 6);
  await answered(learner.play());
  await answered(learner.pause());
  await answered(learner.play());
  await answered(learner.play());
  assert.equal(made.later.length, 2); // one of the play that was paused, which ends
  goOn();
  goOn();
  assert.equal(made.later.length, 1);
  const { right, probabilities } = await answered(learner.measure());
  assert.equal(right, rightOf(probabilities, noise().test.labels));
  assert.deepEqual(
    [(await answered(learner.pause())).state, (await answered(learner.step())).step],
    ["paused", 8],
  );
  await answered(learner.play());
  await answered(learner.begin(LONG, noise())); // a new run does not go on by itself
  while (made.later.length > 0) goOn();
  const { step, loss, seconds } = await answered(learner.pause());
  assert.deepEqual([step, loss, seconds], [0, null, 0]);
});

test("a run whose loss is no number any more stops with a sentence, and another can begin", async () => {
  const states = [];
  let stopped;
  const over = new Promise((resolve) => {
    stopped = resolve;
  });
  const learner = createLearner({
    told: ({ state, step }) => {
      states.push([state, step]);
      if (state === "stopped") stopped();
    },
  });
  await learner.begin({ ...LONG, lr: 1e30 }, noise());
  await learner.play();
  await over;
  assert.deepEqual(states, [
    ["playing", 0],
    ["stopped", 1],
  ]);
  for (const asked of [learner.measure(), learner.step(), learner.play()])
    await assert.rejects(asked, /^RangeError: after 1 steps the loss is no number/);
  await learner.begin(LONG, noise());
  assert.equal((await learner.step()).step, 1);
  learner.stop();
});

test("where no worker comes to life the page learns; one that dies has lost the run, and says so", async () => {
  const forbidden = createLearner({
    worker: "text",
    ports: {
      worker: () => {
        throw new Error("no");
      },
      page: (hear) => fakeWorkers().worker("", hear, () => {}),
    },
  });
  assert.equal(forbidden.where(), "page");
  const [{ workers, worker }, page, all] = [fakeWorkers(), fakeWorkers(), []];
  const learner = createLearner({
    worker: "text",
    ports: { worker, page: (hear) => page.worker("", hear, () => {}) },
  });
  const begun = learner.begin(LONG, noise());
  workers[0].die();
  assert.ok(workers[0].closed);
  page.workers[0].answer();
  assert.equal((await begun).steps, 2000);
  assert.equal(learner.where(), "page");
  const other = createLearner({
    worker: "text",
    ports: { worker, page: (hear) => page.worker("", hear, () => {}) },
    told: (told) => all.push(told.state),
  });
  workers[1].ready();
  const lost = other.begin(LONG, noise());
  workers[1].die();
  await assert.rejects(lost, /died/);
  assert.deepEqual(all, ["stopped"]);
  await assert.rejects(other.play(), /stopped/);
});

test("a request that cannot be posted is not posted to the page again", async () => {
  const [{ workers, worker }, page] = [fakeWorkers(), fakeWorkers()];
  const strict = (hear, kind) => {
    const port = kind.worker("", hear, () => {});
    return { ...port, post: (question) => port.post(structuredClone(question)) };
  };
  let die = () => {};
  const learner = createLearner({
    worker: "text",
    ports: {
      worker: (_, hear, failed) => ((die = failed), strict(hear, { worker })),
      page: (hear) => strict(hear, page),
    },
  });
  await assert.rejects(learner.teach(/** @type {any} */ ({ vectors: () => {} })), /clone/);
  const begun = learner.begin(LONG, noise());
  die(); // before it came to life: what waits goes to the page
  assert.equal(page.workers[0].asked.length, 1);
  page.workers[0].answer();
  assert.equal((await begun).steps, 2000);
  assert.equal(workers[0].asked.length, 1);
});

test("a run is measured after the same steps however it is played, and a slow one after each", async () => {
  const play = async (interrupt) => {
    const { workers, worker } = fakeWorkers();
    const found = [];
    const learner = createLearner({
      measured: ({ step, right }) => found.push([step, right]),
      worker: "text",
      ports: { worker, page: null },
    });
    const [made] = workers;
    made.ready();
    const answered = async (promise) => {
      made.answer();
      return promise;
    };
    await answered(learner.begin({ ...SETTINGS, epochs: 12 }, noise()));
    await answered(learner.play());
    for (let turn = 0; made.later.length > 0; turn++) {
      made.later.shift()();
      if (interrupt && turn % 7 === 3) {
        await answered(learner.pause());
        await answered(learner.step());
        await answered(learner.play());
      }
    }
    return { found, learner, made, answered };
  };
  const [plain, other] = [await play(false), await play(true)];
  assert.deepEqual(
    plain.found.map(([step]) => step),
    [20, 40, 48],
  );
  for (const point of plain.found)
    assert.ok(
      other.found.some((one) => one[0] === point[0] && one[1] === point[1]),
      "step " + point[0],
    );
  const { found, learner, made, answered } = plain;
  await answered(learner.begin({ ...SETTINGS, epochs: 1 }, noise()));
  await answered(learner.pace(1000));
  await answered(learner.play());
  found.length = 0;
  while (made.later.length > 0) made.later.shift()();
  assert.deepEqual(
    found.map(([step]) => step),
    [1, 2, 3, 4],
  );
});
