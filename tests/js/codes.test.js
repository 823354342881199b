/** Codes of guesses: every possible guess comes back, and every slip gets a sentence. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  MOST_CODES,
  codeOf,
  countsOf,
  guessFrom,
  guessOf,
  hasCodes,
  lengthOf,
  middleOf,
  plainOf,
  questionOf,
  readCodes,
  rightOf,
} from "../../vitviz/viewer/lessons/codes.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { optionsOf, paintable, rangeOf } from "../../vitviz/viewer/lessons/steps.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { FIXTURES, sourceOf } from "./fixture.js";
import { anyGuess, appOf, openStep } from "./walk.js";

const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const questions = LESSONS.flatMap((lesson) => lesson.steps.map((step, at) => ({ lesson, step, at }))).filter(
  ({ step }) => step.question,
);

test("the code of every kind of guess is read back, in every model", async () => {
  for (const { name } of FIXTURES) {
    const app = /** @type {any} */ (appOf(await sourceOf(name)));
    for (const { lesson, step, at } of questions) {
      await openStep(app, lesson, at + 1);
      assert.ok(hasCodes(app));
      const { grid } = app.source;
      const last = {
        patch: grid.tokens - 1,
        number: step.question.max,
        choose: optionsOf(step.question, app.source).at(-1),
        patches: Array.from(
          { length: paintable(step.question, app.source) },
          (_, back) => grid.tokens - 1 - back,
        ),
      }[step.question.kind];
      const most = { choose: 2, patch: 4, number: step.question.worked ? 5 : 4, patches: 16 }[
        step.question.kind
      ];
      const outermost = step.question.kind === "number" ? [rangeOf(step.question).high] : [];
      for (const guess of [anyGuess(app), last, ...outermost]) {
        const code = codeOf(app, guess);
        const letters = code.replaceAll("-", "");
        assert.ok(letters.length <= most && letters.length === lengthOf(app), lesson.id + " " + code);
        const found = guessOf(app, code.toLowerCase().replaceAll("0", "o").replaceAll("1", "l"));
        const { min, max, kind, worked } = step.question;
        if (kind === "number") assert.ok(Math.abs(found - guess) <= (max - min) / (worked ? 32767 : 1023));
        else assert.deepEqual(found, guess);
        if (kind === "choose") assert.deepEqual(guessOf(app, letters[0]), guess, "the letter alone will do");
        assert.deepEqual(guessFrom(app, JSON.parse(JSON.stringify(plainOf(app, guess)))), guess);
        assert.ok(JSON.stringify(plainOf(app, guess)).length <= 100, "what a class takes");
        assert.match(questionOf(app), /^[0-9a-z]{1,8}$/);
      }
    }
  }
});

test("a code of a number beyond the line stands for that number", async () => {
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  const find = (wanted) =>
    LESSONS.flatMap((lesson) => lesson.steps.map((step, at) => ({ lesson, step, at }))).find(
      ({ step: { question } }) => question && wanted(question),
    );
  const counted = find(({ truth }) => truth === "patchNumbers");
  await openStep(app, counted.lesson, counted.at + 1);
  assert.equal(counted.step.question.max, 400);
  const { guesses } = readCodes(app, [768, 192].map((guess) => codeOf(app, guess)).join(" "));
  assert.equal(rightOf(app, guesses, 768), 1, "768 numbers in a patch, of which the line shows 400");
  assert.deepEqual(guesses.map(Math.round), [768, 192]);
  const code = codeOf(app, 768).replaceAll("-", "");
  for (let place = 0; place < code.length; place++) {
    for (const letter of LETTERS.replace(code[place], "")) {
      const slip = code.slice(0, place) + letter + code.slice(place + 1);
      assert.throws(() => guessOf(app, slip), { key: "pollOther" }, slip);
    }
  }
  const below = find(({ truth }) => truth === "handedOn");
  await openStep(app, below.lesson, below.at + 1);
  assert.ok(Math.abs(guessOf(app, codeOf(app, -7.25)) + 7.25) < 0.001);
});

test("choices are A, B, C, with a letter that belongs to the question", async () => {
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  const lesson = LESSONS.find(({ steps }) =>
    steps.some(({ question }) => question?.kind === "choose" && Array.isArray(question.options)),
  );
  const at = lesson.steps.findIndex(
    ({ question }) => question?.kind === "choose" && Array.isArray(question.options),
  );
  await openStep(app, lesson, at + 1);
  const options = optionsOf(lesson.steps[at].question, app.source);
  assert.deepEqual(
    options.map((option) => codeOf(app, option)[0]),
    ["A", "B", "C", "D", "E"].slice(0, options.length),
  );
  for (const nothing of ["Z", "0", "AA" + codeOf(app, options[0])[1]])
    assert.throws(() => guessOf(app, nothing), { key: "pollOther" });
  const { prefix } = app.source.grid;
  for (const odd of [null, undefined, -1, 99, "0", [], [0], {}, 0.5, "<b>"])
    assert.equal(guessFrom(app, odd), undefined, String(odd));
  assert.deepEqual(rightOf(app, [options[0], options[1], options[0]], options[0]), 2);
  await openStep(
    app,
    LESSONS.find(({ id }) => id === "ask"),
    2,
  ); // a patch
  for (const odd of [null, -1, 1e9, "3", [3], {}, 0.5])
    assert.equal(guessFrom(app, odd), undefined, String(odd));
  const truth = new Float32Array(app.source.grid.tokens - prefix);
  truth[5] = 1;
  assert.equal(rightOf(app, [prefix + 5, prefix + 4, prefix + 5], truth), 2);
});

test("how many numbers are right, and how many painted patches", async () => {
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  const find = (wanted) =>
    LESSONS.flatMap((lesson) => lesson.steps.map((step, at) => ({ lesson, step, at }))).find(
      ({ step: { question } }) => question && wanted(question),
    );
  const number = find(({ kind, worked }) => kind === "number" && !worked);
  await openStep(app, number.lesson, number.at + 1);
  const { min, max } = number.step.question;
  const part = (share) => min + share * (max - min);
  assert.equal(
    rightOf(app, [part(0.5), part(0.515), part(0.53), part(0.9)], part(0.5)),
    2,
    "within a fiftieth of the line",
  );
  const painted = find(({ kind }) => kind === "patches");
  await openStep(app, painted.lesson, painted.at + 1);
  const { prefix, tokens } = app.source.grid;
  const count = paintable(painted.step.question, app.source);
  // the first are the strongest
  const truth = Float32Array.from({ length: tokens - prefix }, (_, patch) => -patch);
  const first = Array.from({ length: count }, (_, at) => prefix + at);
  const last = Array.from({ length: count }, (_, at) => tokens - 1 - at);
  const common = last.filter((token) => first.includes(token)).length;
  assert.equal(rightOf(app, [first, last], truth), (count + common) / 2);
});

test("a wrong letter, another question and nonsense are told apart", async () => {
  const app = /** @type {any} */ (appOf(await sourceOf("cls")));
  const ask = LESSONS.find(({ id }) => id === "ask");
  await openStep(app, ask, 2);
  const { prefix } = app.source.grid;
  const right = codeOf(app, prefix + 3);
  await openStep(app, ask, 3);
  const other = codeOf(app, anyGuess(app));
  await openStep(app, ask, 2);
  for (let at = 0; at < right.length; at++) {
    for (const letter of LETTERS.replace(right[at], "")) {
      const wrong = right.slice(0, at) + letter + right.slice(at + 1);
      assert.equal(readCodes(app, wrong).wrong[0]?.key, "pollOther", wrong + " for " + right);
    }
  }
  const found = readCodes(app, [right, other, right, "hello!", "12", "", "<b>"].join(" ,;\n"));
  assert.deepEqual(found.guesses, [prefix + 3, prefix + 3]);
  assert.deepEqual(
    found.wrong.map(({ key }) => key),
    ["pollOther", "pollNoCode", "pollOther", "pollNoCode"],
  );
  for (const { key } of found.wrong)
    for (const language of Object.keys(STRINGS)) assert.ok(STRINGS[language][key].includes("{code}"));
  assert.deepEqual(countsOf(found.guesses, app.source.grid).slice(2, 5), [0, 2, 0]);
  assert.equal(readCodes(app, (right + " ").repeat(MOST_CODES + 3)).more, 3);
  assert.deepEqual([middleOf([3, 1, 2]), middleOf([1, 4])], [2, 2.5]);
});
