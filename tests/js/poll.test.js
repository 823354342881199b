/** The poll: what a class sees when the answer is still being worked out. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { createPoll } from "../../vitviz/viewer/teaching/poll.js";
import { sourceOf } from "./fixture.js";
import { openPage, settled } from "./page.js";
import { appOf, openStep } from "./walk.js";

test("an answer that is still worked out is drawn once it is there", async (context) => {
  const { body, button } = openPage(context);
  const app = appOf(await sourceOf("cls"));
  const lesson = LESSONS.find(({ steps }) => steps.some(({ question }) => question?.kind === "choose"));
  await openStep(app, lesson, lesson.steps.findIndex(({ question }) => question?.kind === "choose") + 1);
  let known = null;
  Object.assign(app.course, { truth: () => known });
  const dialog = /** @type {any} */ (createPoll(/** @type {any} */ (app)));
  body.append(dialog);
  button("Show the answer", dialog).click();
  assert.equal(dialog.querySelectorAll(".vv-poll-right").length, 0);
  known = app.course.question().options[0];
  await settled(400);
  assert.equal(dialog.querySelectorAll(".vv-poll-right").length, 1);
});
