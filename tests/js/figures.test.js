/** Figures of lessons: each step names its evidence, and before the guess none shows what is asked. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ON_PAGE, figureIn } from "../../vitviz/viewer/lessons/figures.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { TRUTHS } from "../../vitviz/viewer/lessons/truths.js";
import { figured } from "../../vitviz/viewer/teaching/figured.js";
import { written } from "../../vitviz/viewer/text/lesson.js";
import { sourceOf } from "./fixture.js";
import { appOf, openStep, truthOf } from "./walk.js";

/** Truths that a page tells before a guess, such as the sizes of the model. */
const TOLD = ["finalWord", "wordShare", "patchNumbers", "patchCount", "headNumbers", "pairShare", "pairRest"];
/** Vectors that a step speaks of before it asks for what becomes of them. */
const GIVEN = ["q", "k", "products", "value", "before", "change"];

const steps = LESSONS.flatMap((lesson) =>
  [...(lesson.recall ? [lesson.recall] : []), ...lesson.steps].flatMap((step) =>
    [step, ...Object.values(step.instead ?? {})].map((one) => ({
      name: lesson.id + "/" + one.id,
      lesson,
      step: one,
    })),
  ),
);

/** The operands of a part. */
const operandsOf = ({ rows, of, note, own = [], other = [], ends = {}, at }) =>
  [
    ...(rows && !Array.isArray(rows) ? Object.values(rows) : []),
    ...Object.values(ends),
    ...own,
    ...other,
    of,
    note,
    at,
  ].filter((one) => typeof one === "object");

test("every step names its figure, which stands in the bar or where the step shows it", () => {
  assert.ok(steps.length > 120);
  for (const { name, lesson, step } of steps) {
    const figure = step.figure ?? lesson.figure;
    assert.ok(figure, name + " names no figure");
    if (typeof figure === "string") {
      assert.ok(ON_PAGE.includes(figure), name);
      if (figure === "code") assert.ok(step.code, name);
      if (figure === "photo" || figure === "panel") assert.ok(step.shows?.includes(figure), name);
      continue;
    }
    assert.ok(figureIn(lesson, step, Boolean(step.question)), name + " shows nothing");
    for (const part of Object.values(figure).filter(Boolean))
      for (const { truth } of operandsOf(part)) assert.ok(TRUTHS[truth], name + ": " + truth);
  }
});

test("before the guess a figure shows only what the step tells, and never what it asks", () => {
  for (const { name, lesson, step } of steps.filter((one) => one.step.question)) {
    const part = figureIn(lesson, step, false);
    if (!part || typeof part === "string") continue;
    const told = Object.values(step.values ?? {}).map(({ truth }) => truth);
    for (const { truth, at = {} } of operandsOf(part)) {
      const ofAnotherRun = at.run && at.run !== step.question.at?.run;
      assert.ok(truth !== step.question.truth || ofAnotherRun, name);
      const isMap = TRUTHS[truth].unit === "map" && TRUTHS[step.question.truth].unit === "which";
      assert.ok(isMap || [...TOLD, ...told].includes(truth), name + " shows " + truth);
    }
    if (part.kind === "numbers")
      for (const row of part.rows) assert.ok(GIVEN.includes(row), name + ": " + row);
    if (part.kind === "row") assert.equal(part.of, "scores", name);
    assert.ok(!["answers", "curve"].includes(part.kind), name);
  }
});

test("each figure is read from an analysis, and tells the numbers that the truths give", async () => {
  const other = await sourceOf("cls");
  for (const fixture of ["cls", "no_cls"]) {
    const app = Object.assign(appOf(await sourceOf(fixture), { other }), {
      comparisons: { besides: () => [] },
    });
    let [drawn, compared] = [0, 0];
    for (const lesson of LESSONS) {
      for (let number = lesson.recall ? 0 : 1; number <= lesson.steps.length; number++) {
        await openStep(app, lesson, number);
        for (const told of [false, true]) {
          const part = figureIn(lesson, app.course.step(), told);
          if (!part || typeof part === "string") continue;
          const found = await truthOf(app, () => figured(app, part));
          if (found === undefined) continue;
          drawn += 1;
          const words = JSON.stringify(found, (key, value) => (ArrayBuffer.isView(value) ? null : value));
          assert.ok(!/undefined|NaN/.test(words), lesson.id + " " + number + ": " + words);
          const { question } = app.course.step();
          const at = Object.values(part.rows ?? {}).findIndex(
            (one) => one.truth === question?.truth && !one.at,
          );
          if (part.kind !== "bars" || at < 0) continue;
          assert.equal(found[at].text, written(app, question, await truthOf(app)), lesson.id + " " + number);
          compared += 1;
        }
      }
    }
    assert.ok(drawn > 60 && compared > 5, [drawn, compared].join());
  }
});
