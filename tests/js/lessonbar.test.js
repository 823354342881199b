/** The lesson bar: where the focus is after *Guess again*, and what ends with the board; what a camera marks. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { createMistaken } from "../../vitviz/viewer/stage/mistaken.js";
import { createLessonBar } from "../../vitviz/viewer/teaching/lessonbar.js";
import { sourceOf, storageOf } from "./fixture.js";
import { openPage, settled } from "./page.js";
import { appOf, openStep } from "./walk.js";

/** The bar of a lesson in its first step whose answer is chosen. */
async function barOf({ room = null, outcomes = undefined, find = ({ kind }) => kind === "choose" } = {}) {
  const app = /** @type {any} */ (appOf(await sourceOf("cls"), { storage: storageOf(), outcomes }));
  const lesson = LESSONS.find(({ steps }) => steps.some(({ question }) => question && find(question)));
  const at = lesson.steps.findIndex(({ question }) => question && find(question));
  Object.assign(app, { taste: {}, page: { link: () => "" } });
  Object.assign(app.teaching, { room, calls: null, forTeacher: false, speaksLessons: () => true });
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
