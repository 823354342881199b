/** A class that is called to a step: what its pages know, through reloads and restarts of the app. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { createCallState } from "../../vitviz/viewer/teaching/calls.js";

/** An app with a class, which a restart makes forget; `asked` has the requests. */
function appOf() {
  const app = {
    run: "1",
    call: null,
    asked: [],
    lost: false,
    restart: () => Object.assign(app, { run: app.run + "1", call: null }),
    async ask(question) {
      app.asked.push(question);
      if (app.lost) throw new Error("no connection");
      const { lesson, step, call } = question;
      if (question.do === "call") app.call = { lesson, step, call };
      return { run: app.run, call: app.call };
    },
  };
  return app;
}

const STORED = () => {
  const kept = new Map();
  return () => ({ getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) });
};

function pageOf(app, teacher, storage = STORED()) {
  const room = { teacher, voter: "0", ask: app.ask, answered: null };
  return createCallState(/** @type {any} */ (room), guessBook(/** @type {any} */ (storage)));
}

test("a pupil learns of a call, late or not, and is called once", async () => {
  const app = appOf();
  const [storage, teacher] = [STORED(), pageOf(app, "word")];
  const pupil = pageOf(app, null, storage);
  await pupil.look();
  assert.equal(pupil.open(), null);
  await teacher.bring("ask", 3);
  assert.match(app.call.call, /^[0-9a-f]{8}$/);
  await pupil.look();
  assert.deepEqual([pupil.open().lesson, pupil.open().step], ["ask", 3]);
  const late = pageOf(app, null);
  await late.look();
  assert.equal(late.open().step, 3);
  pupil.done();
  assert.equal(pupil.open(), null);
  assert.equal(late.open().step, 3);
  const reloaded = pageOf(app, null, storage);
  await reloaded.look();
  assert.equal(reloaded.open(), null);
  await teacher.bring("ask", 3); // the same step again is another call
  await reloaded.look();
  assert.equal(reloaded.open().step, 3);
  app.call = null; // a new class
  await reloaded.look();
  await teacher.look();
  assert.deepEqual([reloaded.open(), teacher.call(), app.call], [null, null, null]);
});

test("after a restart the teacher's page alone says again where the class is, and nobody is called twice", async () => {
  const app = appOf();
  const [teacher, pupil] = [pageOf(app, "word"), pageOf(app, null)];
  await teacher.bring("cut", 0);
  await pupil.look();
  pupil.done();
  app.lost = true;
  await Promise.all([teacher.look(), pupil.look()]);
  assert.equal(teacher.call().step, 0); // a lost connection changes nothing
  app.lost = false;
  app.restart();
  await pupil.look();
  assert.deepEqual([pupil.call(), app.call], [null, null]);
  await teacher.look();
  assert.equal(app.call.lesson, "cut");
  assert.equal(app.asked.at(-1).teacher, "word");
  await pupil.look();
  assert.equal(pupil.call().lesson, "cut");
  assert.equal(pupil.open(), null);
  app.call = null; // a new class, after the restart: nothing is said again
  await teacher.look();
  assert.equal(app.call, null);
});
