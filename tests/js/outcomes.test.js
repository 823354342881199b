/** Outcomes of experiments in lessons: what a step hides, and what is asked for, when and how often. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { experimentIn, experimentsOf, hiddenIn } from "../../vitviz/viewer/lessons/experiments.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { createOutcomes } from "../../vitviz/viewer/lessons/outcomes.js";
import { truthOf } from "../../vitviz/viewer/lessons/truths.js";
import { isExperiment, read } from "../../vitviz/viewer/state/experiment.js";
import { FIXTURES, sourceOf, until } from "./fixture.js";
import { appOf, openStep } from "./walk.js";

/** What an experiment is, once the map that it needs has come. */
async function experimentFor(text, source) {
  await until(() => experimentIn(text, source) !== null);
  return experimentIn(text, source);
}

const turn = () =>
  new Promise((done) => {
    setTimeout(done, 1);
  });
const step = (answer) => ({
  manifest: {
    pass: {
      predictions: [{ index: answer, label: String(answer), probability: 0.5 }],
      probabilities: [0.1, 0.2, 0.3],
    },
  },
});

test("an experiment names places, and patches that a map puts first", async () => {
  const source = await sourceOf("cls");
  const { depth } = source.manifest.model;
  const patches = source.grid.rows * source.grid.cols;
  assert.equal(
    experimentIn("even_cls_LAST*transplant_cls_END_example-dog", source),
    `even_cls_${depth - 1}*transplant_cls_${depth}_example-dog`,
  );
  assert.equal(
    experimentIn("transplant_PATCHES_END_example-dog", source),
    `transplant_0-${patches - 1}_${depth}_example-dog`,
  );
  const text = "remove_FIRST(attention)";
  assert.equal(experimentIn(text, source), null, "its map is loading");
  const hidden = (await experimentFor(text, source)).replace("remove_", "").split(".").map(Number);
  assert.equal(hidden.length, hiddenIn(source.grid));
  const one = source.explanations.named("attention");
  const { values } = source.explanations.of({
    key: one.key,
    token: 0,
    target: source.manifest.pass.predictions[0].index,
  }).here;
  const map = Array.from(values.subarray(source.grid.prefix));
  const least = Math.min(...hidden.map((patch) => map[patch]));
  assert.equal(map.filter((value) => value > least).length, hidden.length - 1);
  assert.deepEqual(
    hidden,
    [...hidden].sort((a, b) => a - b),
  );
  assert.equal(experimentIn("remove_FIRST(nothing)", source), undefined);
  assert.equal(experimentIn(text, await sourceOf("no_cls")), undefined, "without CLS nobody asks");
});

test("every experiment of a lesson is one that can be read, in every model that has it", async () => {
  for (const { name } of FIXTURES) {
    const source = await sourceOf(name);
    for (const one of LESSONS.flatMap((lesson) => lesson.steps)) {
      for (const text of experimentsOf(one, source.manifest.model)) {
        const found = await experimentFor(text, source);
        if (found === undefined) continue;
        assert.ok(read(found)?.length > 0, text);
        assert.ok(isExperiment(found, source.shape), name + ": " + found);
      }
    }
  }
});

test("an outcome that came with a page is of its photo, and another photo has its own", async () => {
  const [brought, other] = [await sourceOf("cls"), await sourceOf("cls")];
  const template = brought.manifest;
  other.manifest = { ...other.manifest, template, pass: { ...other.manifest.pass, id: "here-1" } };
  const text = "positions_off_0";
  const outcomes = createOutcomes(
    async () => step(2).manifest.pass,
    { [text]: step(1).manifest.pass },
    () => {},
  );
  assert.deepEqual(outcomes.of(text, brought), step(1));
  assert.equal(outcomes.of(text, other), null);
  await turn();
  assert.deepEqual(outcomes.of(text, other), step(2));
});

test("each outcome is asked for once, one after another; a failure is asked for again with the next step", async () => {
  const source = await sourceOf("cls");
  const asked = [];
  const ends = [];
  const operate = (interventions, { manifest: { pass } }) =>
    new Promise((resolve, reject) => {
      asked.push(interventions[0].kind + " " + pass.id);
      ends.push({ resolve, reject });
    });
  let news = 0;
  const outcomes = createOutcomes(operate, {}, () => {
    news += 1;
  });
  const [one, two] = ["positions_off_0", "shuffle_1_0"];
  assert.deepEqual(
    [outcomes.of(one, source), outcomes.of(two, source), outcomes.of(one, source)],
    [null, null, null],
  );
  await turn();
  assert.deepEqual(asked, ["positions " + source.manifest.pass.id]);
  ends.shift().resolve({ ...step(1).manifest.pass, groups: [] });
  await turn();
  assert.deepEqual([outcomes.of(one, source), news, asked.length], [step(1), 1, 2]);
  ends.shift().reject(new Error("busy"));
  await turn();
  assert.deepEqual(
    [outcomes.of(two, source), outcomes.of(two, source), asked.length],
    [undefined, undefined, 2],
  );
  assert.deepEqual(
    [one, two].map((text) => outcomes.failure(text, source)?.message),
    [undefined, "busy"],
  );
  outcomes.retry();
  assert.equal(outcomes.failure(two, source), null);
  assert.deepEqual([outcomes.of(two, source), outcomes.of(one, source)], [null, step(1)]);
  await turn();
  ends.shift().resolve(step(2).manifest.pass);
  await turn();
  assert.deepEqual([outcomes.of(two, source), asked.length], [step(2), 3]);
  const home = createOutcomes(null, { [one]: step(3).manifest.pass }, () => {});
  assert.deepEqual([home.of(one, source), home.of(two, source)], [step(3), undefined]);
});

test("what keeps a step from its answer is known, and where nobody can compute it that is no failure", async () => {
  const source = await sourceOf("cls");
  const hide = LESSONS.find(({ id }) => id === "hide");
  const at = hide.steps.findIndex(({ state = {} }) => state.experiment?.includes("FIRST"));
  const failing = createOutcomes(
    () => Promise.reject(new Error("no network")),
    {},
    () => {},
  );
  const app = appOf(source, { outcomes: failing });
  await openStep(app, hide, at + 1);
  await experimentFor(hide.steps[at].state.experiment, source);
  app.select({ beside: "" });
  const [text] = experimentsOf(hide.steps[at], source.manifest.model);
  assert.equal(failing.of(text, source), null);
  await turn();
  assert.equal(app.course.failure()?.message, "no network");
  app.course.retry();
  assert.equal(app.course.failure(), null);
  const alone = appOf(source, { outcomes: createOutcomes(null, {}, () => {}) });
  await openStep(alone, hide, at + 1);
  assert.equal(alone.course.failure(), null);
});

test("a step compares with what it put beside, and with nothing else that stands there", async () => {
  const [source, dog] = [await sourceOf("cls"), await sourceOf(FIXTURES[1].name)];
  const lesson = LESSONS.find(({ id }) => id === "learn");
  const at = lesson.steps.findIndex(({ id }) => id === "which");
  let [error, retried] = [null, 0];
  const app = /** @type {any} */ (appOf(source, { other: dog, besides: ["untrained", "example-cat"] }));
  Object.defineProperty(app, "second", {
    get: () => ({ error, retry: () => (retried += 1) }),
  });
  await openStep(app, lesson, at + 1);
  const { course } = app;
  assert.deepEqual([app.selection.beside, course.moved()], ["example-cat", false]);
  assert.notEqual(course.truth(), undefined);
  for (const beside of ["untrained", ""]) {
    app.select({ beside });
    assert.deepEqual([course.truth(), course.moved(), course.failure()], [undefined, true, null], beside);
    course.retry();
    assert.deepEqual([app.selection.beside, course.moved(), retried], ["example-cat", false, 0]);
  }
  error = new Error("no network");
  assert.deepEqual([course.truth(), course.failure()], [undefined, error]);
  course.retry();
  assert.equal(retried, 1);
  await openStep(app, lesson, 1);
  assert.deepEqual([course.moved(), course.failure()], [false, null], "a step that puts nothing beside");
});

test("truths of several outcomes wait for all of them, and are missing where one is", () => {
  const source = /** @type {any} */ ({
    manifest: {
      model: { depth: 3, outputs: "one_of" },
      pass: { predictions: [{ index: 2, label: "2", probability: 0.9 }] },
    },
  });
  const at = (more) => ({ token: 0, partner: 0, layer: 0, head: 0, ...more });
  const of = (name, more, outcomes, other = null) =>
    truthOf(name, source, at(more), other, (text) => outcomes[text]);
  const left = (share) => ({
    manifest: { pass: { predictions: [{ index: 2, label: "2", probability: share }] } },
  });
  const experiments = { a: "x", b: "y", c: "z" };
  assert.equal(of("hurtsMost", { experiments }, { x: left(0.5), y: left(0.1), z: left(0.7) }), "b");
  assert.equal(
    of("hurtsMost", { experiments }, { x: left(0.5), y: step(1), z: left(0.7) }),
    "b",
    "a class that is no longer among the first",
  );
  assert.equal(of("hurtsMost", { experiments }, { x: left(0.5), y: null, z: left(0.7) }), null);
  assert.equal(of("hurtsMost", { experiments }, { x: null, y: undefined, z: left(0.7) }), undefined);
  assert.equal(of("outcomeShare", { experiment: "x" }, { x: step(1) }), 0.3);
  assert.equal(of("outcomeWord", { experiment: "x" }, { x: step(1) }), "1");
  assert.deepEqual(
    [2, 1, 0].map((now) => of("whoseWord", { experiment: "x" }, { x: step(1) }, step(now))),
    ["own", "donor", "third"],
  );
  const turns = { t1: step(2), t2: step(1), t3: step(1) };
  assert.equal(of("firstTurn", { experiment: "tPLACE" }, turns), "2");
  assert.equal(of("firstTurn", { experiment: "tPLACE" }, { ...turns, t1: null }), null);
});

test("a step whose map comes late gets its experiment then, and one without a host never", async () => {
  const hide = LESSONS.find(({ id }) => id === "hide");
  const source = await sourceOf("cls");
  const app = appOf(source);
  await openStep(app, hide, 2);
  assert.deepEqual([app.selection.experiment, app.selection.beside, app.course.missed()], ["", "", null]);
  const experiment = await experimentFor("remove_FIRST(attention)", source);
  assert.deepEqual(app.course.missed(), { experiment, beside: "experiment" });
  app.select(app.course.missed());
  assert.deepEqual(
    [app.selection.experiment, app.selection.beside, app.course.missed()],
    [experiment, "experiment", null],
  );
  app.select({ beside: "" });
  assert.equal(app.course.missed(), null, "it was closed");
  const alone = appOf(source, { besides: [] });
  await openStep(alone, hide, 2);
  alone.select({ experiment: "" });
  assert.equal(alone.course.missed(), null);
});

test("a page without a host says of a second picture that it has none, and does not wait for it", async () => {
  const source = await sourceOf("cls");
  const app = appOf(source, { besides: [], outcomes: createOutcomes(null, {}, () => {}) });
  for (const lesson of LESSONS) {
    for (const [at, { state = {}, question }] of lesson.steps.entries()) {
      if (!state.beside || !question) continue;
      await openStep(app, lesson, at + 1);
      assert.equal(app.course.truth(), undefined, lesson.id + "/" + (at + 1));
    }
  }
});
