/** Lessons: their data and texts are whole, their truths right, and guesses are kept. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { changesPhoto, originOf, stepLink } from "../../vitviz/viewer/lessons/course.js";
import { codeOf } from "../../vitviz/viewer/lessons/codes.js";
import { LESSONS } from "../../vitviz/viewer/lessons/index.js";
import { experimentIn } from "../../vitviz/viewer/lessons/experiments.js";
import { gapOf, isGuess, painted, stateOf } from "../../vitviz/viewer/lessons/steps.js";
import { TRUTHS, holds, truthOf } from "../../vitviz/viewer/lessons/truths.js";
import { insideMeans } from "../../vitviz/viewer/maths/inside.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { readLink, writeLink } from "../../vitviz/viewer/state/link.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { push, startHistory, startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { optionText, stepText, written } from "../../vitviz/viewer/text/lesson.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { FIXTURES, assertClose, sourceOf, storageOf, until } from "./fixture.js";
import { appOf, openStep, visitStep } from "./walk.js";

const CONTROLS = [
  "title",
  "readout",
  "beside",
  "panel",
  "tabs",
  "layer",
  "head",
  "direction",
  "overlay",
  "looks",
  "legend",
  "photo",
];
const ask = LESSONS.find(({ id }) => id === "ask");

async function open(name, ask = null) {
  const source = await sourceOf(name, ask);
  if (!source.positions.exists) return source;
  assert.equal(source.positions.get(), null);
  await until(() => source.positions.here);
  return source;
}

const recalls = LESSONS.filter(({ recall }) => recall).map((lesson) => ({
  lesson,
  step: lesson.recall,
  number: 0,
}));
const steps = [
  ...recalls,
  ...LESSONS.flatMap((lesson) =>
    lesson.steps.flatMap((step, at) =>
      [step, ...Object.values(step.instead ?? {})].map((one) => ({ lesson, step: one, number: at + 1 })),
    ),
  ),
];

test("every lesson is whole: its fields exist, and so do its truths, controls and texts", () => {
  assert.equal(new Set(LESSONS.map(({ id }) => id)).size, LESSONS.length);
  const used = new Set();
  const needs = (...parts) => {
    const key = "lesson." + parts.join("_");
    used.add(key);
    for (const language of Object.keys(STRINGS))
      assert.ok(STRINGS[language][key], key + " is missing in " + language);
  };
  for (const lesson of LESSONS) {
    needs(lesson.id);
    needs(lesson.id, "goal");
    needs(lesson.id, "card");
    assert.ok(lesson.minutes > 0 && lesson.steps.length > 1);
    assert.equal(new Set(lesson.steps.map(({ id }) => id)).size, lesson.steps.length, lesson.id);
  }
  const start = startSelection({
    depth: 3,
    heads: 3,
    grid: { prefix: 1, rows: 3, cols: 3, tokens: 10 },
    panels: PANELS,
  });
  for (const { lesson, step } of steps) {
    const name = lesson.id + "/" + step.id;
    for (const { state = {}, shows = [] } of [step, step.reveal ?? {}]) {
      for (const field of Object.keys(state))
        assert.ok(field in start || field === "model" || field === "example", name + ": " + field);
      for (const control of shows) assert.ok(CONTROLS.includes(control), name + ": " + control);
      if (state.panel)
        assert.ok(
          PANELS.some(({ id }) => id === state.panel),
          name,
        );
    }
    const words = step.says ? [step.says] : [lesson.id, step.id];
    needs(...words);
    const truths = [
      ...Object.values(step.values ?? {}),
      ...(step.claim ? [step.claim] : []),
      ...(step.question ? [step.question] : []),
    ];
    for (const { truth } of truths) assert.ok(TRUTHS[truth], name + ": " + truth);
    if (!step.question) continue;
    needs(...words, "question");
    needs(...words, "why");
    if (Array.isArray(step.question.options))
      for (const option of step.question.options) needs(...words, "option", option);
    if (step.claim) for (const verdict of ["holds", "fails"]) needs(...words, verdict);
    if (`lesson.${words.join("_")}_slip` in STRINGS.en) needs(...words, "slip");
    const { unit } = TRUTHS[step.question.truth];
    const right = {
      patch: ["map"],
      patches: ["map"],
      choose: ["which"],
      number: ["count", "share", "cosine", "times", "number"],
    }[step.question.kind];
    assert.ok(right.includes(unit), name + " asks for a " + step.question.kind + " and gets a " + unit);
  }
  const unused = Object.keys(STRINGS.en).filter((key) => key.startsWith("lesson.") && !used.has(key));
  assert.deepEqual(unused, [], "texts that no lesson says");
});

test("every step can be walked in every model and language, and says no nonsense", async () => {
  for (const { name } of FIXTURES) {
    const source = await open(name);
    const other = await open(name);
    for (const language of Object.keys(STRINGS)) {
      const app = appOf(source, { other, language });
      for (const { lesson, number } of steps) {
        const { texts, step, truth } = await visitStep(app, lesson, number);
        const where = [name, language, lesson.id, step].join("/");
        assert.ok(texts.says, where);
        for (const said of Object.values(texts)) {
          assert.doesNotMatch(said ?? "", /undefined|null|NaN|Infinity|\{\w+\}|\[object/, where);
        }
        if (truth !== null && truth !== undefined) assert.ok(texts.gap && texts.why, where);
      }
    }
  }
});

test("a step means the same place and the same part of the depth in every model", async () => {
  for (const { name, grid, manifest } of FIXTURES) {
    const source = await open(name);
    const shape = appOf(source).shape();
    const { token, layer, head, pinned } = stateOf(
      { id: "x", state: { token: [0.99, 0], layer: "last", head: 9 } },
      source,
      shape,
    );
    assert.deepEqual(
      { token, layer, head, pinned },
      {
        token: grid.prefix + (grid.rows - 1) * grid.cols,
        layer: manifest.model.depth - 1,
        head: manifest.model.num_heads - 1,
        pinned: true,
      },
      name,
    );
    assert.equal(stateOf({ id: "x" }, source, shape).overlay, "none", "a map would tell the answer");
    assert.equal(
      stateOf({ id: "x", state: { layer: 1, head: 0, token: [0, 0], partner: "strongest" } }, source, shape)
        .partner,
      grid.prefix + Math.floor(grid.rows / 2) * grid.cols + Math.floor(grid.cols / 2),
      "its layer is not here yet",
    );
    await source.store.ensure(1);
    const { partner } = stateOf(
      { id: "x", state: { layer: 1, head: 0, token: [0, 0], partner: "strongest" } },
      source,
      shape,
    );
    const row = Array.from(source.maps.head(1, grid.prefix, "from", 0));
    const best = Math.max(...row.slice(grid.prefix).filter((_, patch) => patch !== 0));
    assert.equal(row[partner], best, name);
  }
});

test("truths agree with what Python found in the small models", async () => {
  for (const { name, expected, manifest, grid } of FIXTURES) {
    const source = await open(name);
    const { layer, head, token } = expected;
    await source.store.ensure(layer);
    const at = { layer, head, token, partner: 1 };
    const of = (truth, more = {}) => truthOf(truth, source, { ...at, ...more }, null);
    assertClose(of("attentionMap"), expected.attention_from[head].slice(grid.prefix));
    assertClose(
      [of("dotProduct"), of("score"), of("pairShare")],
      [expected.pair.sum, expected.pair.score, expected.pair.share],
      2e-3,
    );
    assert.equal(of("positionCosine", { to: grid.prefix + 1 }).toFixed(3), expected.similarity[1].toFixed(3));
    assert.equal(of("tokenCount"), manifest.model.num_tokens);
    assert.equal(of("patchNumbers"), expected.patch_pixel.length);
    const raised = of("raisedShare");
    assert.ok(raised > of("pairShare") && raised < Math.E * of("pairShare"));
    assert.equal(of("raisedOthers"), "shrink");
    assert.equal(of("dotProduct", { head: "mean" }), undefined, "a mean has no query");
  }
});

test("a filter that slides and a table give the same numbers, and another picture another CLS only later", async () => {
  const source = await open("cls");
  await until(() => source.embedding.get() && source.picture.get());
  const at = { token: 0, partner: 1, layer: 0, head: 0 };
  assert.equal(truthOf("convolutionOrLinear", source, at, null), "same");
  assert.ok(truthOf("convolutionDifference", source, at, null) < 1e-4);
  assert.equal(truthOf("positionCount", source, at, null), source.grid.tokens);
  assert.equal(truthOf("classAtStart", source, at, null), null, "the other one is not here yet");
  const [same, other] = [await open("cls"), await open("cls")];
  await Promise.all([source, same, other].map(({ store }) => store.ensure(0)));
  assert.equal(truthOf("classAtStart", source, at, same), "same");
  other.store.get(0).k[3] += 1;
  assert.equal(truthOf("classAtStart", source, at, other), "different");
  assert.equal(truthOf("classAtStart", await open("no_cls"), at, same), undefined);
});

test("a claim holds, fails, waits, or cannot be said", () => {
  const values = { a: 2, b: 3, soon: null, never: undefined, word: "x" };
  const value = ({ truth }) => values[truth];
  const cases = [
    [{ truth: "a", above: 1 }, true],
    [{ truth: "a", above: 2 }, false],
    [{ truth: "a", below: 3 }, true],
    [{ truth: "a", below: 2 }, false],
    [{ truth: "a", above: 1, below: 2 }, false],
    [{ truth: "a", below: { truth: "b" } }, true],
    [{ truth: "a", below: { truth: "b", times: 0.5 } }, false],
    [{ truth: "word", is: "x" }, true],
    [{ truth: "word", is: "y" }, false],
    [{ truth: "soon", above: 1 }, null],
    [{ truth: "a", above: { truth: "soon" } }, null],
    [{ truth: "never", above: 1 }, undefined],
    [{ truth: "soon", above: { truth: "never" } }, undefined],
  ];
  for (const [claim, wanted] of cases) assert.equal(holds(claim, value), wanted, JSON.stringify(claim));
});

test("the gap between a guess and the truth", () => {
  const grid = { prefix: 1 };
  const map = Float32Array.from([0.125, 0.5, 0.25, 0.0625]);
  assert.deepEqual(gapOf({ kind: "patch", truth: "attentionMap" }, 3, map, grid), {
    tokens: [2],
    of: 0.25,
    most: 0.5,
    common: 0,
  });
  assert.deepEqual(gapOf({ kind: "patches", truth: "attentionMap" }, [2, 4], map, grid), {
    tokens: [2, 3],
    of: 0.5625,
    most: 0.75,
    common: 1,
  });
  const guessed = (guess) =>
    gapOf({ kind: "number", truth: "otherShare", min: 0, max: 1 }, guess, 0.5, grid).verdict;
  assert.deepEqual(
    [0.5, 0.48, 0.47, 0.6, 0.61].map(guessed),
    ["right", "right", "close", "close", "far"],
    "2 and 10 percent of the line",
  );
  const worked = (guess, truth) =>
    gapOf({ kind: "number", truth: "score", min: -10, max: 20, worked: true }, guess, truth, grid).verdict;
  assert.deepEqual(
    [worked(4.66, 4.6609), worked(4.7, 4.6609), worked(5, 4.6609), worked(143, 144), worked(144, 144)],
    ["right", "close", "far", "close", "right"],
    "half a percent and five percent of the number",
  );
  assert.equal(gapOf({ kind: "number", truth: "score", min: 0, max: 10 }, 2, 5, grid).apart, 3);
  assert.deepEqual(gapOf({ kind: "choose", truth: "x" }, "a", "b", grid), { same: false });
  assert.deepEqual(
    [painted([], 5, 2), painted([5], 6, 2), painted([5, 6], 7, 2), painted([5, 6], 5, 2)],
    [[5], [5, 6], [6, 7], [6]],
  );
});

test("a number that cannot be is no guess, and a larger model's counts can be", async () => {
  const source = await open("cls");
  const share = { kind: "number", truth: "otherShare", percent: true, min: 0, max: 1 };
  const cosine = { kind: "number", truth: "positionCosine", min: -1, max: 1 };
  const count = { kind: "number", truth: "patchCount", min: 0, max: 400 };
  const six = { kind: "number", truth: "halvedPhotos", min: 0, max: 6, strict: true };
  const cases = [
    [share, 1, true],
    [share, 1.2, false],
    [share, -0.1, false],
    [cosine, -1, true],
    [cosine, 7, false],
    [count, 1369, true],
    [count, 1e6, false],
    [count, -1, false],
    [six, 6, true],
    [six, 7, false],
  ];
  for (const [question, guess, wanted] of cases)
    assert.equal(isGuess(/** @type {any} */ (question), guess, source), wanted, question.truth + " " + guess);
});

test("what a text shows is what its sum is made of, and a calculator agrees", async () => {
  const number = LESSONS.find(({ id }) => id === "number");
  const source = await open("cls");
  const app = appOf(source);
  await openStep(app, number, 2);
  const shown = (name) =>
    Number(written(app, { truth: name }, app.course.value({ truth: name })).replace("\u2212", "-"));
  assert.equal(
    shown("score"),
    Number((shown("dotProduct") / Math.sqrt(source.manifest.model.head_dim)).toPrecision(5)),
  );
  assert.equal(shown("scorePower"), Number(Math.exp(shown("score")).toPrecision(5)));
});

test("a reason in words stays with its guess, and goes with it", async () => {
  const source = await open("cls");
  const app = appOf(source, { storage: storageOf() });
  await openStep(app, ask, 2);
  app.course.take(7);
  app.course.reveal();
  app.course.explain("it is bright");
  assert.deepEqual(
    [app.course.because(), app.course.guess(), app.course.revealed()],
    ["it is bright", 7, true],
  );
  app.course.again();
  assert.equal(app.course.because(), "");
});

test("layers of an option are counted from 0, as in every chart", async () => {
  const when = LESSONS.find(({ id }) => id === "when");
  const app = appOf(await open("cls"));
  await openStep(app, when, when.steps.findIndex(({ id }) => id === "turn") + 1);
  assert.deepEqual([optionText(app, "1"), optionText(app, "4")], ["Layer 0", "Layer 3"]);
});

test("a refused picture is an answer of its own, before one that is not sure", () => {
  const kind = (answer) =>
    TRUTHS.answerKind.of(
      /** @type {any} */ ({ manifest: { pass: { answer } } }),
      /** @type {any} */ ({}),
      null,
      () => null,
    );
  assert.deepEqual(
    [
      { sure: true, known: false },
      { sure: false, known: false },
      { sure: false, known: true },
      { sure: true, known: null },
      null,
    ].map(kind),
    ["none", "none", "unsure", "named", undefined],
  );
});

test("of several draws the mean counts, and photos that fall by half are counted", () => {
  const found = (probability, index = 3) => ({
    manifest: { pass: { predictions: [{ index, probability }], probabilities: null } },
  });
  const source = /** @type {any} */ (found(0.8));
  const left = { a: 0.5, b: 0.1, c: 0.25, d: 0.8, even: 0.3, cat: 0.4, catEven: 0.25 };
  const of = (name, at, other = null) =>
    TRUTHS[name].of(source, /** @type {any} */ (at), other, (text) => /** @type {any} */ (found(left[text])));
  assert.equal(of("outcomesMean", { experiments: ["a", "b"] }), 0.3);
  assert.deepEqual(
    [of("outcomesLeast", { experiments: ["a", "b"] }), of("outcomesMost", { experiments: ["a", "b"] })],
    [0.1, 0.5],
  );
  assert.equal(
    of("hurtsMost", { experiments: { lots: ["a", "b"], one: "c" } }),
    "one",
    "0.25 is less than 0.3",
  );
  // This photo falls from 0.8 to 0.3, the cat from 0.4 to 0.25, and one from 0.8 to 0.1.
  assert.equal(
    of("halvedPhotos", { experiments: { cat: "cat", "cat*": "catEven", dog: "d", "dog*": "b" } }, found(0.3)),
    2,
  );
});

test("a lot is the same fifth of the patches for everybody, and another lot another", async () => {
  const source = await open("cls");
  const patches = (text) => experimentIn(text, source).replace("remove_", "").split(".").map(Number);
  const [one, again, other] = ["remove_LOT(1)", "remove_LOT(1)", "remove_LOT(2)"].map(patches);
  assert.deepEqual(one, again);
  assert.notDeepEqual(one, other);
  assert.equal(new Set(one).size, Math.round((source.grid.rows * source.grid.cols) / 5));
});

test("a guess from an earlier visit is checked like anything from outside", async () => {
  const source = await open("cls");
  const { prefix, tokens } = source.grid;
  const good = [
    ["patch", prefix],
    ["patches", [prefix, prefix + 1]],
    ["choose", "a"],
    ["number", -1.5],
  ];
  const bad = [
    ["patch", 0],
    ["patch", tokens],
    ["patch", "1"],
    ["patches", [prefix]],
    ["patches", [prefix, 0]],
    ["patches", "ab"],
    ["choose", "c"],
    ["choose", undefined],
    ["number", NaN],
    ["number", "1"],
    ["number", null],
  ];
  const check = ([kind, guess]) =>
    isGuess({ kind, truth: "x", count: 2, options: ["a", "b"] }, guess, source);
  assert.deepEqual(
    good.map(check),
    good.map(() => true),
  );
  assert.deepEqual(
    bad.map(check),
    bad.map(() => false),
  );
});

test("a pupil guesses, sees the gap, goes on, comes back, and guesses again", async () => {
  const storage = storageOf(new Map());
  const source = await open("cls");
  const app = appOf(source, { storage });
  const { course } = app;
  await openStep(app, ask, 2);
  assert.deepEqual([course.takes(), course.complete(), course.shows()], [true, false, []]);
  course.reveal();
  assert.equal(course.revealed(), false, "first a guess");
  course.take(0);
  assert.equal(course.guess(), undefined, "CLS is no patch");
  course.take(5);
  course.take(7);
  assert.equal(course.guess(), 7);
  assert.equal(app.selection.overlay, "none");
  course.reveal();
  assert.deepEqual(
    [course.revealed(), course.takes(), course.shows(), app.selection.overlay],
    [true, false, ["legend"], "attention"],
  );
  course.go(3);
  assert.deepEqual([app.selection.step, app.selection.overlay, course.revealed()], [3, "none", false]);
  course.go(2);
  assert.deepEqual(
    [course.guess(), course.revealed(), app.selection.overlay],
    [7, true, "attention"],
    "as it was left",
  );
  const later = appOf(await open("cls"), { storage });
  await openStep(later, ask, 2);
  assert.deepEqual([later.course.guess(), later.selection.overlay], [7, "attention"], "on another visit");
  const elsewhere = appOf(await open("grey"), { storage });
  await openStep(elsewhere, ask, 2);
  assert.equal(elsewhere.course.guess(), undefined, "in another model");
  course.again();
  assert.deepEqual([course.guess(), app.selection.overlay], [undefined, "none"]);
  course.leave();
  assert.deepEqual([app.selection.lesson, course.lesson(), course.shows()], ["", null, null]);
});

test("a guess about one photo is none about the next with the same name, and goes home with its own", async () => {
  const [storage, photos] = [storageOf(new Map()), new PhotoStore()];
  const guessesOf = async (/** @type {any} */ photo, token = -1) => {
    const source = await open("cls");
    source.manifest = { ...source.manifest, photo: { ...source.manifest.photo, name: "image.jpg" } };
    if (photo) source.manifest.upload = { address: photo.address ?? photo.id };
    const app = appOf(source, { storage, photos });
    await openStep(app, ask, 2);
    if (token >= 0) app.course.take(token);
    return app.course;
  };
  const [cat, dog] = [photos.create({ name: "image.jpg" }), photos.create({ name: "image.jpg" })];
  photos.keep(cat);
  photos.keep(dog);
  await guessesOf(cat, 7);
  assert.equal((await guessesOf(dog)).guess(), undefined, "another photo");
  await guessesOf(dog, 8);
  photos.sent(cat, "/kept/image.jpg");
  assert.equal((await guessesOf(cat)).guess(), 7, "the host has it now");
  const home = Object.values((await guessesOf(cat)).guesses()).map(({ guess }) => guess);
  assert.deepEqual(home.sort(), [7, 8]);
  const page = appOf(await open("cls"), { brought: (await guessesOf(cat)).guesses() });
  page.source.manifest = {
    ...page.source.manifest,
    photo: { ...page.source.manifest.photo, name: "image.jpg" },
  };
  await openStep(page, ask, 2);
  assert.equal(page.course.guess(), 7, "in the page that was taken home");
});

test("a guess about one model is none about its twin, another size or another look of the photo", async () => {
  const storage = storageOf(new Map());
  const guessesOf = async (key = {}, photo = {}, token = -1) => {
    const source = await open("cls");
    const { model } = source.manifest;
    source.manifest = {
      ...source.manifest,
      model: { ...model, key: { ...model.key, ...key } },
      photo: { ...source.manifest.photo, ...photo },
    };
    const app = appOf(source, { storage });
    await openStep(app, ask, 2);
    if (token >= 0) app.course.take(token);
    return [app.course.guess(), codeOf(/** @type {any} */ (app), source.grid.prefix)];
  };
  const [, code] = await guessesOf({}, {}, 7);
  const others = [
    await guessesOf({ untrained: true }),
    await guessesOf({ image_size: [64, 64] }),
    await guessesOf({}, { inverted: true }),
    await guessesOf({}, { stretched: true }),
  ];
  assert.deepEqual(
    others.map(([guess]) => guess),
    [undefined, undefined, undefined, undefined],
  );
  // the check of a code has 32 letters, so that two of five may have the same
  assert.ok(new Set([code, ...others.map(([, other]) => other)]).size > 2);
  assert.equal((await guessesOf())[0], 7);
});

test("a step with another model travels there, but a picture of one's own stays within a lesson", async () => {
  const where = LESSONS.find(({ id }) => id === "where");
  const source = await open("cls");
  const app = appOf(source);
  await openStep(app, where, 4);
  app.course.go(3);
  assert.deepEqual(app.travelled, []);
  app.course.go(5);
  assert.deepEqual(app.travelled, [{ model: "mnist", example: "digit", lesson: "where", step: 5 }]);
  assert.equal(app.course.atHome(), false);
  source.manifest.link = { model: "mnist", example: "digit" };
  assert.equal(app.course.atHome(), true);
  delete source.manifest.link;
});

test("what a step calls another photo is none that the visitor looks at already", async () => {
  const shuffle = LESSONS.find(({ id }) => id === "shuffle");
  const source = await open("cls");
  const app = appOf(source);
  source.manifest.link = { model: "photos", example: "goldfish" };
  await openStep(app, shuffle, 2);
  assert.equal(changesPhoto(shuffle, app.course.number()), false);
  app.course.go(3);
  assert.deepEqual(
    app.travelled,
    [{ model: "photos", example: "dog", lesson: "shuffle", step: 3 }],
    "neither goldfish nor what the lesson asks about later",
  );
  assert.equal(changesPhoto(shuffle, app.course.number()), true);
  app.course.go(4);
  assert.equal(changesPhoto(shuffle, app.course.number()), false, "back to the photo of the lesson");
  const when = LESSONS.find(({ id }) => id === "when");
  for (const [besides, beside] of [
    [["example-dog", "example-goldfish"], "example-goldfish"],
    [["untrained", "example-dog"], "example-dog"],
  ]) {
    const beheld = appOf(source, { besides });
    await openStep(beheld, when, 4);
    assert.equal(
      beheld.selection.beside,
      beside,
      "not what is looked at, which does not stand beside itself",
    );
  }
  const alone = appOf(source, { besides: [] });
  await openStep(alone, shuffle, 2);
  alone.course.go(3);
  assert.deepEqual(alone.travelled, [], "a host of one photo has no other");
  delete source.manifest.link;
});

test("a link into a lesson holds the step, and the language and the projector, but nothing that tells the answer", async () => {
  const source = await open("cls");
  const app = appOf(source);
  await openStep(app, ask, 2);
  app.select({ overlay: "attention", head: 1 });
  const taste = startTaste(PANELS);
  const origin = { model: "photos", example: "red-panda" };
  const href = writeLink("https://x.org/?head=3&lang=ko", app.selection, taste, origin, app.shape());
  assert.equal(href, "https://x.org/?lang=ko&model=photos&example=red-panda&lesson=ask&step=2");
  assert.match(
    writeLink(href, app.selection, { ...taste, projector: true }, origin, app.shape()),
    /projector=true/,
  );
  assert.deepEqual(readLink(href + "&projector=true", PANELS), { lesson: "ask", step: 2, projector: true });
  const check = (wanted) => {
    const { lesson, step } = validSelection(wanted, app.selection, app.shape());
    return [lesson, step];
  };
  assert.deepEqual(
    [{ lesson: "none" }, { step: 99 }, { step: 0 }, { step: "2" }, { lesson: "" }].map(check),
    [
      ["ask", 2],
      ["ask", ask.steps.length + 1],
      ["ask", 0],
      ["ask", 2],
      ["", 1],
    ],
  );
  assert.deepEqual(check({ lesson: "cut", step: 0 }), ["cut", 1], "the first lesson has nothing to recall");
  assert.equal(
    stepLink(
      "https://x.org/a?panel=qk",
      { ...originOf(ask, null), lesson: "ask", step: 3 },
      { lang: "ko", projector: true },
    ),
    "https://x.org/a?model=photos&example=red-panda&lesson=ask&step=3&lang=ko&projector=true",
  );
  const history = push(startHistory({ ...app.selection }), { ...app.selection, step: 3 }, 1);
  assert.equal(push(history, { ...app.selection, step: 4 }, 2).past.length, 2, "each step can be undone");
});

test("guesses are remembered up to a bound, and damaged storage is no harm", () => {
  const kept = new Map();
  const storage = storageOf(kept);
  const book = guessBook(storage);
  for (let i = 0; i < 405; i++) book.keep("q" + i, { guess: i });
  assert.deepEqual(
    [book.recall("q4"), book.recall("q5"), guessBook(storage).recall("q404")],
    [undefined, { guess: 5 }, { guess: 404 }],
  );
  kept.set("vitviz-guesses", "{");
  assert.equal(guessBook(storage).recall("q5"), undefined);
  const refused = guessBook(() => {
    throw new Error("refused");
  });
  refused.keep("a", { guess: 1 });
  assert.deepEqual(refused.recall("a"), { guess: 1 });
});

test("a model that learned no positions has steps of its own, of what is true of it", async () => {
  const where = LESSONS.find(({ id }) => id === "where");
  const source = await open("cls");
  const other = await open("cls");
  const { grid, manifest } = source;
  const opened = async (number) => {
    const app = appOf(source, { other });
    await openStep(app, where, number);
    return app;
  };
  const walk = async (kinds, sent) => {
    manifest.model.position_kinds = kinds;
    /** @type {any} */ (source).inside = { exists: sent !== null, error: null, get: () => sent };
    const steps = [];
    for (const step of [1, 2, 3, 4]) steps.push(await visitStep(appOf(source, { other }), where, step));
    const { course } = await opened(2);
    if (course.question() && ![null, undefined].includes(course.truth())) {
      course.put(course.question().options[0]);
      course.reveal(["What?", "This."]);
      assert.deepEqual(
        course.found().map(({ told: words }) => words),
        [["What?", "This."]],
        "the card has it",
      );
    }
    return steps;
  };
  // A number for each way: 1 beside each other, less and less farther away; of the second head 1 more.
  const { rows, cols } = grid;
  const ways = [0, 1].flatMap((more) =>
    Array.from(
      { length: (2 * rows - 1) * (2 * cols - 1) },
      (_, at) =>
        more +
        1 /
          Math.max(
            1,
            Math.abs(Math.floor(at / (2 * cols - 1)) - rows + 1) + Math.abs((at % (2 * cols - 1)) - cols + 1),
          ),
    ),
  );
  const inside = (values) => ({
    kind: "rotary",
    layers: 1,
    heads: 2,
    values: Float32Array.from(values),
    most: 2,
    turns: new Float32Array(0),
  });
  const [told, apart, ring, taken] = await walk(["rotary"], inside(ways));
  assert.deepEqual([told.step, apart.step, apart.truth, apart.holds], ["told", "apart", "a", true]);
  assert.match(
    apart.texts.why,
    /^A: 1\.50, B: 0\.75, /,
    "the middle is 2 rows and 2 columns from the corner",
  );
  assert.match(apart.texts.claim, /comes off better here/);
  assert.deepEqual([ring.step, ring.asked[0].at.layer, taken.step], ["ring", 0, "taken"]);
  const near = source.grid.prefix + Math.floor(0.2 * rows) * cols + Math.floor(0.2 * cols);
  const map = insideMeans(
    inside(ways),
    0,
    { row: Math.floor(0.2 * rows), col: Math.floor(0.2 * cols) },
    grid,
  );
  assertClose(
    ring.truth,
    Array.from(map, (value, patch) => (patch === near - grid.prefix ? -2 : value)),
    1e-6,
  );
  const [own] = manifest.pass.predictions;
  assert.equal(taken.truth, own.probability, "what stands beside is the same here");
  const [, far] = await walk(["bias"], inside(ways.map((value) => -value)));
  assert.deepEqual([far.truth, far.holds], ["b", false]);
  const [bag, cannot] = await walk(["rotary"], null);
  assert.deepEqual(
    [bag.step, cannot.step, cannot.truth],
    ["told", "apart", null],
    "its numbers are not here",
  );
  const [untold, mixed, heap, alike] = await walk([], null);
  assert.deepEqual(
    [untold, mixed, heap, alike].map(({ step }) => step),
    ["untold", "mixed", "heap", "alike"],
  );
  assert.deepEqual([mixed.truth, mixed.holds, heap.truth], ["same", true, own.probability]);
  assert.deepEqual(
    (await walk(["learned", "rotary"], inside(ways))).map(({ step }) => step),
    ["bag", "cross", "paint", "before"],
  );
  manifest.model.position_kinds = ["learned"];
});

test("a lesson begins with what is recalled, and closes with what was found", async () => {
  const source = await open("cls");
  const app = appOf(source);
  const { course } = app;
  const where = LESSONS.find(({ id }) => id === "where");
  course.start("where");
  assert.deepEqual([course.number(), course.step().id, course.closed()], [0, "recall", false]);
  assert.match(stepText(app, "question"), /How many patches/);
  assert.equal(
    course.truth(),
    source.grid.rows * source.grid.cols,
    "it is asked of the picture of this lesson",
  );
  course.go(-1);
  assert.equal(course.number(), 0, "nothing is before it");
  course.go(2);
  course.put("a");
  course.reveal(["Whose?", "You: A"]);
  course.explain("I saw it");
  course.go(3);
  course.put([source.grid.prefix]); // not complete, and never shown
  course.go(where.steps.length);
  const last = course.origin();
  course.go(course.number() + 1);
  assert.deepEqual(
    [course.number(), course.step().id, course.question()],
    [where.steps.length + 1, "card", null],
  );
  assert.deepEqual(course.origin(), last, "over the picture of the last step");
  assert.deepEqual(course.found(), [
    { guess: "a", shown: true, told: ["Whose?", "You: A"], because: "I saw it" },
  ]);
  assert.equal(course.following().id, "shuffle");
  assert.match(stepText(app, ""), /a fixed rule/);
  course.go(course.number() + 1);
  assert.equal(course.number(), where.steps.length + 1, "nothing is behind it");
  course.start("cut");
  assert.equal(course.number(), 1, "the first lesson has nothing to recall");
  course.start(LESSONS.at(-1).id);
  assert.equal(course.following(), null);
});
