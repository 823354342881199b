/** The poll: what a class sees when the answer is still being worked out; the list of polls in each language. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { createPoll } from "../../vitviz/viewer/teaching/poll.js";
import { createPolls, forgetPoll } from "../../vitviz/viewer/teaching/polls.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { rangeOf } from "../../vitviz/viewer/lessons/steps.js";
import { createMoments } from "../../vitviz/viewer/teaching/moments.js";
import { titleOf } from "../../vitviz/viewer/text/lesson.js";
import { sourceOf, storageOf } from "./fixture.js";
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

test("a guess beyond the line of its question stands at its end", async (context) => {
  const { body } = openPage(context);
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  const isWide = ({ question }) => question?.kind === "number" && rangeOf(question).high > question.max;
  const lesson = LESSONS.find(({ steps }) => steps.some(isWide));
  await openStep(app, lesson, lesson.steps.findIndex(isWide) + 1);
  const { min, max } = app.course.question();
  const room = {
    teacher: "word",
    ask: async (question) => (question.do === "tally" ? { open: true, guesses: [min, max, 2 * max] } : {}),
  };
  const notebook = guessBook(storageOf());
  Object.assign(app.teaching, { room, guesses: notebook, moments: createMoments(notebook, true) });
  const dialog = /** @type {any} */ (createPoll(app));
  body.append(dialog);
  await settled(50);
  assert.deepEqual(
    dialog.querySelectorAll(".vv-poll-dot").map(({ style }) => Math.round(parseFloat(style.left))),
    [0, 100, 100],
  );
  dialog.send("close");
});

test("the polls until now are listed in the language of the page", async (context) => {
  openPage(context);
  const source = await sourceOf("cls");
  const guesses = guessBook(storageOf());
  const lesson = LESSONS.find(({ steps }) => steps.some(({ question }) => question?.kind === "choose"));
  const at = lesson.steps.findIndex(({ question }) => question?.kind === "choose") + 1;
  const listed = async (language, vote) => {
    const app = /** @type {any} */ (appOf(source, { language }));
    Object.assign(app.teaching, { guesses });
    await openStep(app, lesson, at);
    const polls = createPolls(app);
    const values = { right: 1, count: 2 };
    if (vote) polls.record(app.course.question().options.slice(0, 2), "said", { key: "pollRight", values });
    return {
      app,
      values,
      cells: polls.root.querySelectorAll("td").map(({ textContent }) => textContent),
      name: polls.root.querySelector("summary").textContent,
    };
  };
  await listed("en", true);
  for (const language of ["ko", "en"]) {
    const { app, values, cells, name } = await listed(language, false);
    assert.deepEqual(cells, [titleOf(app, lesson) + ", " + at, "2", app.t("pollRight", values)]);
    assert.equal(name, app.t("polls", { count: 1 }));
  }
});

test("a poll that is opened again keeps its row until as many have guessed anew, or it is emptied", async (context) => {
  openPage(context);
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  Object.assign(app.teaching, { guesses: guessBook(storageOf()) });
  const lesson = LESSONS.find(({ steps }) => steps.some(({ question }) => question?.kind === "choose"));
  await openStep(app, lesson, lesson.steps.findIndex(({ question }) => question?.kind === "choose") + 1);
  const [first] = app.course.question().options;
  let polls = createPolls(app);
  const votes = () => polls.root.querySelectorAll("td")[1]?.textContent ?? "";
  const record = (count) => polls.record(Array(count).fill(first), "", null);
  record(3);
  record(2); // a code was mistyped
  record(3);
  polls = createPolls(app); // the field is empty, and the app was restarted
  record(0);
  record(2);
  assert.equal(votes(), "3");
  record(4);
  record(3);
  assert.equal(votes(), "3");
  polls = createPolls(app);
  forgetPoll(app); // Empty
  record(0);
  assert.equal(votes(), "");
  record(1);
  assert.equal(votes(), "1");
  record(5);
  polls = createPolls(app);
  polls.record(Array(2).fill(first), "said", { key: "pollRight", values: { right: 2, count: 2 } });
  const cells = () => polls.root.querySelectorAll("td").map(({ textContent }) => textContent);
  assert.deepEqual(cells().slice(1), ["5", app.t("pollRight", { right: 2, count: 2 })]);
  context.mock.method(Date, "now", () => new Date().getTime() + 24 * 3_600_000);
  polls = createPolls(app); // another class, the day after
  record(0);
  assert.equal(votes(), "5");
  record(2);
  assert.equal(votes(), "2");
});
