/** The lesson bar: where the focus is after *Guess again*, and what ends with the board; what a camera marks. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { createMistaken } from "../../vitviz/viewer/stage/mistaken.js";
import { createLessonBar } from "../../vitviz/viewer/teaching/lessonbar.js";
import { createMoments } from "../../vitviz/viewer/teaching/moments.js";
import { sourceOf, storageOf } from "./fixture.js";
import { openPage, settled } from "./page.js";
import { appOf, openStep } from "./walk.js";

/** The bar of a lesson in its first step whose answer is chosen. */
async function barOf({
  room = null,
  outcomes = undefined,
  find = ({ kind }) => kind === "choose",
  moments = createMoments(guessBook(storageOf())),
} = {}) {
  const app = /** @type {any} */ (appOf(await sourceOf("cls"), { storage: storageOf(), outcomes }));
  const lesson = LESSONS.find(({ steps }) => steps.some(({ question }) => question && find(question)));
  const at = lesson.steps.findIndex(({ question }) => question && find(question));
  Object.assign(app, { taste: {}, page: { link: () => "" } });
  Object.assign(app.teaching, { room, moments, calls: null, forTeacher: false, speaksLessons: () => true });
  await openStep(app, lesson, at + 1);
  const bar = createLessonBar(app);
  globalThis.document.body.append(bar.root);
  bar.render();
  return { app, bar };
}

test("who guesses again is at the answer, not at the picture", async (context) => {
  const { body, button } = openPage(context);
  const { app, bar } = await barOf();
  app.course.put(app.course.question().options[0]);
  app.course.reveal();
  bar.render();
  const again = button(app.t("lessonAgain"));
  again.focus();
  again.click();
  assert.equal(globalThis.document.activeElement, body.querySelector(".vv-lesson-answer input"));
});

test("a slider in the middle is no guess until it is pressed, also where it stands", async (context) => {
  const { body } = openPage(context);
  const { app, bar } = await barOf({ find: ({ kind }) => kind === "number" });
  const slider = body.querySelector("input[type=range]");
  assert.ok(slider.classList.contains("vv-blank"));
  assert.equal(app.course.guess(), undefined);
  slider.click();
  bar.render();
  assert.equal(app.course.guess(), 0.5); // of 100 %
  assert.ok(!slider.classList.contains("vv-blank"));
});

test("the answer that is still worked out cannot be shown, and nothing is written down of it", async (context) => {
  const { button } = openPage(context);
  const outcomes = { of: () => null, failure: () => null, retry() {} };
  const { app, bar } = await barOf({ outcomes, find: ({ truth }) => truth === "hurtsMost" });
  app.course.put(app.course.question().options[0]);
  bar.render();
  assert.deepEqual([app.course.complete(), app.course.truth()], [true, null]);
  button(app.t("lessonReveal")).click();
  assert.deepEqual([app.course.revealed(), app.course.found()], [false, []]);
});

test("a pupil's page asks no more once its board or its lesson is gone", async (context) => {
  openPage(context);
  for (const leave of [({ bar }) => bar.destroy(), ({ app, bar }) => (app.course.leave(), bar.render())]) {
    let asked = 0;
    const room = {
      voter: "v",
      answered: new Set(),
      async ask() {
        asked += 1;
        return { counted: true, waits: true };
      },
    };
    const parts = await barOf({ room: /** @type {any} */ (room) });
    parts.app.course.put(parts.app.course.question().options[0]);
    parts.bar.render();
    await settled(50);
    assert.ok(asked > 0);
    leave(parts);
    const before = asked;
    await settled(1700);
    assert.equal(asked, before);
  }
});

/** A class whose teacher shows the vote: one voter, as vitviz/web/service/classroom.py answers. */
function classOf() {
  const room = {
    voter: "v",
    answered: new Set(),
    guess: null,
    lost: false,
    sent: [],
    now: 100,
    since: 0,
    began: 0,
    /** *Empty*, *New class*. */
    empty: () => Object.assign(room, { guess: null, since: ++room.now }),
    anew: () => Object.assign(room.empty(), { began: room.now }),
    restart: () => Object.assign(room, { guess: null }),
    async ask({ do: what, guess, at }) {
      if (room.lost) throw new Error("no connection");
      room.now += 1;
      const old = (at ?? (what === "vote" ? room.now : 0)) < room.since;
      if (what === "vote") room.sent.push(at ?? "hand");
      if (what === "vote" && old) return { counted: false, anew: true, at: room.now };
      if (what === "vote") room.guess = guess;
      const counted = room.guess !== null;
      return { counted, anew: !counted && old, waits: true, at: room.now };
    },
  };
  return room;
}

/** A pupil's bar in that class, with a guess that was just made. */
async function pupilOf(context, room) {
  const moments = createMoments(guessBook(storageOf()));
  const parts = await barOf({ room: /** @type {any} */ (room), moments });
  const { app, bar } = parts;
  context.after(() => bar.destroy()); // or it would ask on after a failure
  const guess = (at) => (app.course.put(app.course.question().options[at]), bar.render());
  /** The moment that the page hears every few seconds: since when guesses count. */
  const hear = () => (moments.hear({ at: room.now, since: room.since, began: room.began }), bar.render());
  const said = () => bar.root.querySelector(".vv-ballot-said").textContent;
  hear();
  guess(0);
  await settled(50);
  return { ...parts, moments, guess, hear, said };
}

test("a guess from before the vote was emptied is sent by its pupil alone, and once", async (context) => {
  const { button } = openPage(context);
  const room = classOf();
  const { app, bar, guess, hear, said } = await pupilOf(context, room);
  assert.deepEqual([room.sent, said()], [["hand"], app.t("roomWait")]);
  room.empty();
  hear();
  await settled(50);
  const resend = button(app.t("roomAgain"), bar.root);
  assert.deepEqual([room.sent, room.guess, resend.hidden], [["hand"], null, false]);
  assert.equal(said(), app.t("roomAnew"));
  await settled(1700); // it is asked after, and not sent
  assert.deepEqual([room.sent.length, said()], [1, app.t("roomAnew")]);
  resend.click();
  await settled(50);
  assert.deepEqual([room.sent, resend.hidden, said()], [["hand", "hand"], true, app.t("roomWait")]);
  // A restart brings it back by itself.
  room.restart();
  await settled(1700);
  assert.deepEqual([room.sent.length, room.guess !== null, resend.hidden], [3, true, true]);
  assert.ok(room.sent[2] >= room.since);
  // Another guess needs no button.
  room.empty();
  guess(1);
  await settled(50);
  assert.deepEqual([room.sent.at(-1), resend.hidden], ["hand", true]);
});

test("whoever has seen an answer votes again in a new class, not in the same one", async (context) => {
  openPage(context);
  const room = classOf();
  const { app, bar, guess, hear, said } = await pupilOf(context, room);
  const reveal = () => (app.course.reveal(), bar.render());
  reveal();
  room.empty();
  hear();
  guess(1);
  await settled(50);
  assert.deepEqual([room.sent, said()], [["hand"], app.t("roomLate")]);
  reveal();
  room.anew();
  hear();
  await settled(50);
  assert.deepEqual([room.sent, said()], [["hand"], ""]);
  guess(2);
  await settled(50);
  assert.deepEqual([room.sent, said()], [["hand", "hand"], app.t("roomWait")]);
  // Which class it was is known in the answer that is seen now.
  reveal();
  guess(0);
  await settled(50);
  assert.deepEqual([room.sent.length, said()], [2, app.t("roomLate")]);
});

test("a guess that never arrived is not sent to another class; another tab's is heard of", async (context) => {
  const { button } = openPage(context);
  const room = classOf();
  room.lost = true;
  const { app, bar, said } = await pupilOf(context, room);
  assert.deepEqual([room.sent, said()], [[], app.t("roomLost")]);
  room.empty();
  room.lost = false;
  await settled(5300);
  const resend = button(app.t("roomAgain"), bar.root);
  assert.deepEqual([room.guess, resend.hidden, said()], [null, false, app.t("roomAnew")]);
  room.guess = 1; // the other tab sends it
  await settled(1700);
  assert.deepEqual([room.sent.length, resend.hidden, said()], [1, true, app.t("roomWait")]);
});

test("an answer that failed says why, and is asked for again", async (context) => {
  const { body, button } = openPage(context);
  let [failure, asked] = [new Error("No network."), 0];
  const outcomes = /** @type {any} */ ({
    of: () => (failure ? undefined : null),
    failure: () => failure,
    retry() {
      asked += 1;
      failure = null;
    },
  });
  const { app, bar } = await barOf({ outcomes, find: ({ truth }) => truth === "hurtsMost" });
  assert.ok(body.textContent.includes("The answer could not be worked out (No network)."));
  const again = button(app.t("tryAgain"));
  again.focus();
  again.click();
  bar.render();
  assert.deepEqual([asked, again.hidden, globalThis.document.activeElement.tag], [1, true, "h3"]);
});

test("what a step compares with is put beside again where it was closed", async (context) => {
  const { body, button } = openPage(context);
  const { app, bar } = await barOf({ find: ({ truth }) => truth === "morePushed" });
  assert.equal(app.selection.beside, "example-dog");
  app.select({ beside: "" });
  bar.render();
  assert.ok(body.textContent.includes(app.t("lessonMoved")));
  assert.ok(body.querySelector(".vv-lesson-question").hidden);
  button(app.t("lessonPutBack")).click();
  bar.render();
  assert.deepEqual([app.selection.beside, button(app.t("tryAgain")).hidden], ["example-dog", true]);
  assert.ok(!body.textContent.includes(app.t("lessonMoved")));
});

test("the mark of a wrong answer stays under the focus while the model is not sure", (context) => {
  const { body, button } = openPage(context);
  const mistaken = createMistaken((key) => key);
  mistaken.build();
  body.append(mistaken.root);
  const canvas = /** @type {any} */ (globalThis.document.createElement("canvas"));
  mistaken.hear("a cup", canvas);
  const mark = button("camera_wrong");
  mark.focus();
  mistaken.hear("", canvas);
  assert.deepEqual([mark.hidden, mark.getAttribute("aria-disabled")], [false, "true"]);
  mark.click();
  assert.equal(body.querySelectorAll("li").length, 0);
  mistaken.hear("a cup", canvas);
  mark.click();
  assert.equal(body.querySelectorAll("li").length, 1);
});

test("what a teacher opens waits for the texts of lessons after a change of language", async (context) => {
  const { body, button } = openPage(context);
  const { app } = await barOf({});
  const teacher = body.querySelector(".vv-lesson-teacher");
  const seen = [false, true].map((speaks) => {
    app.teaching.speaksLessons = () => speaks;
    teacher.open = true;
    teacher.send("toggle");
    return !button(app.t("poll")).hidden;
  });
  assert.deepEqual(seen, [false, true]);
});
