/** Codes of guesses: every possible guess comes back, and every slip gets a sentence. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Source } from "../../vitviz/viewer/data/source.js";
import { MOST_CODES, codeOf, countsOf, guessOf, hasCodes, middleOf, readCodes } from "../../vitviz/viewer/lessons/codes.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { optionsOf, paintable } from "../../vitviz/viewer/lessons/steps.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { FIXTURES } from "./fixture.js";
import { anyGuess, appOf, openStep } from "./walk.js";

async function open(name) {
  const { manifest, buffers } = FIXTURES.find((one) => one.name === name);
  const source = new Source(manifest, async ({ path }) => buffers[path], null, () => {});
  await source.loaded;
  return source;
}

const questions = LESSONS.flatMap((lesson) => lesson.steps.map((step, at) => ({ lesson, step, at }))).filter(({ step }) => step.question);

test("the code of every kind of guess is read back, in every model", async () => {
  for (const { name } of FIXTURES) {
    const app = /** @type {any} */ (appOf(await open(name)));
    const seen = new Map();
    for (const { lesson, step, at } of questions) {
      await openStep(app, lesson, at + 1);
      assert.ok(hasCodes(app));
      const { grid } = app.source;
      const last = { patch: grid.tokens - 1, number: step.question.max, choose: optionsOf(step.question, app.source).at(-1),
        patches: Array.from({ length: paintable(step.question, app.source) }, (_, back) => grid.tokens - 1 - back) }[step.question.kind];
      for (const guess of [anyGuess(app), last]) {
        const code = codeOf(app, guess);
        assert.match(code, /^[0-9A-Z]{1,4}(-[0-9A-Z]{1,4})+$/);
        assert.ok(code.length <= 25, code);
        const found = guessOf(app, code.toLowerCase().replaceAll("0", "o").replaceAll("1", "l"));
        if (step.question.kind === "number") assert.ok(Math.abs(found - guess) <= (step.question.max - step.question.min) / 32767);
        else assert.deepEqual(found, guess);
        seen.set(code, (seen.get(code) ?? 0) + 1);
      }
    }
  }
});

test("a wrong letter, another question and nonsense are told apart", async () => {
  const app = /** @type {any} */ (appOf(await open(FIXTURES[0].name)));
  const ask = LESSONS.find(({ id }) => id === "ask");
  await openStep(app, ask, 2);
  const { prefix } = app.source.grid;
  const right = codeOf(app, prefix + 3);
  await openStep(app, ask, 3);
  const other = codeOf(app, anyGuess(app));
  await openStep(app, ask, 2);
  let slips = 0;
  for (let at = 0; at < right.length; at++) {
    if (right[at] === "-") continue;
    const wrong = right.slice(0, at) + (right[at] === "7" ? "8" : "7") + right.slice(at + 1);
    slips += Number(readCodes(app, wrong).wrong[0]?.key === "pollSlip");
  }
  assert.equal(slips, right.replaceAll("-", "").length);
  const found = readCodes(app, [right, other, right, "hello!", "12", "", "<b>"].join(" ,;\n"));
  assert.deepEqual(found.guesses, [prefix + 3, prefix + 3]);
  assert.deepEqual(found.wrong.map(({ key }) => key), ["pollOther", "pollNoCode", "pollNoCode", "pollNoCode"]);
  for (const { key } of found.wrong) for (const language of Object.keys(STRINGS)) assert.ok(STRINGS[language][key].includes("{code}"));
  assert.deepEqual(countsOf(found.guesses, app.source.grid).slice(2, 5), [0, 2, 0]);
  assert.equal(readCodes(app, (right + " ").repeat(MOST_CODES + 3)).more, 3);
  assert.deepEqual([middleOf([3, 1, 2]), middleOf([1, 4])], [2, 2.5]);
});
