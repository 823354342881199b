/** A class that is called to a step: what its pages know, through reloads and restarts of the app. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { el } from "../../vitviz/viewer/parts/dom.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { createCallState, createCalling, createCalls } from "../../vitviz/viewer/teaching/calls.js";
import { createCurriculum } from "../../vitviz/viewer/teaching/curriculum.js";
import { createMoments } from "../../vitviz/viewer/teaching/moments.js";
import { openPage, settled } from "./page.js";

/** An app with a class, which a restart makes forget; `asked` has the requests. */
function appOf() {
  const app = {
    run: "1",
    call: null,
    asked: [],
    since: 0,
    at: 9,
    lost: false,
    restart: () => Object.assign(app, { run: app.run + "1", call: null, since: 0 }),
    async ask(question) {
      app.asked.push(question);
      if (app.lost) throw new Error("no connection");
      const { lesson, step, call } = question;
      if (question.do === "call") app.call = { lesson, step, call };
      app.since = Math.max(app.since, question.since ?? 0);
      return { run: app.run, call: app.call, at: app.at, since: app.since };
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
  const notebook = guessBook(/** @type {any} */ (storage));
  const moments = createMoments(notebook, teacher !== null);
  return { ...createCallState(/** @type {any} */ (room), notebook, moments), moments };
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

test("after a restart the teacher's page alone says since when guesses count", async () => {
  const app = appOf();
  const storage = STORED();
  const [teacher, pupil] = [pageOf(app, "word", storage), pageOf(app, null)];
  teacher.moments.count("q", 5, false);
  teacher.moments.count("q", 7, true);
  teacher.moments.count("q", 8, false);
  teacher.moments.count("q", 6, false); // of an app that has forgotten
  assert.deepEqual(["q", "r", ""].map(teacher.moments.counting), [8, 7, 7]);
  app.restart();
  await pupil.look();
  assert.deepEqual([app.since, pupil.moments.since()], [0, 0]);
  await pageOf(app, "word", storage).look(); // also where it was opened anew
  assert.deepEqual([app.since, app.asked.at(-1)], [7, { do: "called", teacher: "word", since: 7 }]);
  await pupil.look();
  assert.equal(pupil.moments.since(), 7);
  pupil.moments.guessed("q");
  assert.deepEqual([pupil.moments.of("q"), pupil.moments.of("r")], [9, 0]);
});

test("the teacher's device alone remembers when it last heard this run of the app, and the one before", async () => {
  const app = appOf();
  const [storage, pupils] = [STORED(), STORED()];
  const [teacher, pupil] = [pageOf(app, "word", storage), pageOf(app, null, pupils)];
  assert.deepEqual(teacher.moments.heard(), [0, 0]);
  const looks = async (page, at) => {
    app.at = at;
    await page.look();
    return page.moments.heard();
  };
  assert.deepEqual(await looks(teacher, 3), [0, 3]);
  assert.deepEqual(await looks(teacher, 5), [0, 5]);
  app.restart();
  const reloaded = pageOf(app, "word", storage);
  assert.deepEqual(reloaded.moments.heard(), [0, 5]);
  assert.deepEqual(await looks(reloaded, 8), [5, 8]);
  assert.deepEqual(await looks(reloaded, 9), [5, 9]);
  app.restart();
  assert.deepEqual(await looks(reloaded, 12), [9, 12]);
  assert.deepEqual(await looks(pupil, 13), [0, 0]);
  assert.deepEqual(await looks(pageOf(app, "word"), 13), [0, 13]); // another device
});

test("a page that is seen again while a request is out goes on with one request at a time", async (t) => {
  const { body } = openPage(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [listeners, waiting] = [{}, []];
  Object.assign(globalThis.document, { addEventListener: (type, listener) => (listeners[type] = listener) });
  const room = {
    teacher: "word",
    voter: "0",
    answered: null,
    ask: () => new Promise((done) => waiting.push(done)),
  };
  const notebook = guessBook(/** @type {any} */ (STORED()));
  const app = /** @type {any} */ ({ selection: null, source: null });
  const moments = createMoments(notebook, true);
  const calls = createCalls(app, /** @type {any} */ (room), notebook, moments, body, () => {});
  const rest = async () => {
    for (let at = 0; at < 10; at++) await null;
  };
  t.mock.timers.tick(1);
  listeners.visibilitychange(); // hidden and seen again
  listeners.visibilitychange();
  assert.equal(waiting.length, 3);
  for (let turn = 0; turn < 4; turn++) {
    for (const done of waiting.splice(0)) done({ run: "1", call: null, at: 9, since: 0 });
    await rest();
    t.mock.timers.tick(4000);
    await rest();
    assert.equal(waiting.length, 1);
  }
  calls.stop();
});

test("texts of lessons that could not be loaded are asked for again with a later look at the call", async (t) => {
  const { body } = openPage(t);
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  Object.assign(globalThis, { innerHeight: 800 });
  t.after(() => delete globalThis.innerHeight);
  Object.assign(globalThis.document, { addEventListener() {}, removeEventListener() {} });
  const rest = async () => {
    for (let at = 0; at < 50; at++) await null;
  };
  const { "lesson.cut": known } = STRINGS.ko;
  t.after(() => Object.assign(STRINGS.ko, { "lesson.cut": known }));
  delete STRINGS.ko["lesson.cut"];
  let [asked, reply] = [0, null];
  const texts = async () => {
    asked += 1;
    return reply ?? Promise.reject(new Error("no network"));
  };
  const call = { lesson: "cut", step: 1, call: "0a0a0a0a" };
  const room = { teacher: null, voter: "0", ask: async () => ({ run: "1", call, at: 9, since: 0 }) };
  const app = /** @type {any} */ ({ selection: {}, source: {}, language: "ko", t: translator("ko") });
  const host = /** @type {any} */ ({ texts, room });
  const draw = () => app.teaching.calls.render();
  app.teaching = createCurriculum(app, host, null, new PhotoStore(), STORED(), body, draw);
  app.course = app.teaching.course;
  const banner = () => body.querySelector(".vv-called");
  t.mock.timers.tick(1);
  await rest();
  assert.deepEqual([asked, banner().hidden], [1, true]);
  t.mock.timers.tick(4000);
  await rest();
  assert.equal(asked, 1, "not with every look: the host tells each failure");
  reply = { STRINGS: { "lesson.cut": known }, GLOSSARY: {} };
  for (let look = 0; look < 6; look++) {
    t.mock.timers.tick(4000);
    await rest();
  }
  assert.deepEqual([asked, banner().hidden], [2, false]);
  app.teaching.calls.stop();
});

test("a call that was lost is told until the next press; ✕ of a call keeps the focus in the page", async (t) => {
  const { body, button } = openPage(t);
  const served = appOf();
  const notebook = guessBook(/** @type {any} */ (STORED()));
  const words = translator("en");
  const course = {
    lessons: [{ id: "ask", steps: [{ id: "a" }] }],
    lesson: () => ({ id: "ask" }),
    number: () => 1,
    step: () => ({ id: "a" }),
  };
  const app = /** @type {any} */ ({ selection: {}, source: {}, language: "en", t: words, course });
  app.teaching = { speaksLessons: () => true };
  const made = (teacher) => {
    const room = { teacher, voter: "0", ask: served.ask, answered: null };
    const moments = createMoments(notebook, teacher !== null);
    const calls = createCalls(app, /** @type {any} */ (room), notebook, moments, body, () =>
      calling?.render(),
    );
    all.push(calls);
    Object.assign(app.teaching, { room, calls });
    return calls;
  };
  let calling = /** @type {any} */ (null);
  const all = [];
  made("word");
  calling = createCalling(app);
  body.append(calling.root);
  served.lost = true;
  button(words("callBring")).click();
  await settled(20);
  calling.render(); // the pointer moves
  assert.equal(calling.root.querySelector("[role=status]").textContent, words("callLost"));
  served.lost = false;
  button(words("callBring")).click();
  await settled(20);
  assert.notEqual(calling.root.querySelector("[role=status]").textContent, words("callLost"));
  calling = null;
  const frame = el("div", { class: "vv-frame", tabindex: "0" });
  body.append(frame);
  made(null);
  await settled(50);
  const away = button("✕");
  away.focus();
  away.click();
  assert.equal(globalThis.document.activeElement, frame);
  for (const calls of all) calls.stop();
});
