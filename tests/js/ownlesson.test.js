/**
 * Own lessons: collected views are checked, packed into files and links, ordered, and played as any lesson.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  MOST,
  Misfit,
  addressWith,
  askedBy,
  checkedLesson,
  fileText,
  lessonInFile,
  lessonOfAddress,
  packed,
  played,
  stepOf,
  unpacked,
  withMoved,
} from "../../vitviz/viewer/lessons/own.js";
import { createCourse, originOf } from "../../vitviz/viewer/lessons/course.js";
import { createShelf } from "../../vitviz/viewer/lessons/shelf.js";
import { fitsLink, written } from "../../vitviz/viewer/state/experiment.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { lessonBook } from "../../vitviz/viewer/state/memory.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { codeOf } from "../../vitviz/viewer/lessons/codes.js";
import { gapText, optionText, stepText, titleOf } from "../../vitviz/viewer/text/lesson.js";
import { createOwnLesson } from "../../vitviz/viewer/teaching/ownlesson.js";
import { sourceOf, storageOf } from "./fixture.js";
import { openPage } from "./page.js";
import { appOf } from "./walk.js";

const view = {
  model: "photos",
  example: "dog",
  panel: "attention",
  layer: 1,
  head: 1,
  token: 5,
  overlay: "attention",
};
const step = (more = {}) => ({ view, text: "", question: "", answer: "", way: "look", ...more });
const lesson = {
  title: "개 <b>&",
  steps: [step({ question: "Where?", way: "patch", answer: "There." }), step({ text: "문장 하나" })],
};

const misfit = (act, key) =>
  assert.throws(act, (error) => {
    assert.ok(error instanceof Misfit, String(error));
    for (const language of Object.keys(STRINGS)) assert.ok(error.key in STRINGS[language], error.key);
    assert.equal(error.key, key);
    return true;
  });

const NO_OUTCOMES = { of: () => undefined, retry() {} };

test("a lesson survives file and link, letter by letter", () => {
  assert.deepEqual(lessonInFile(fileText(lesson)), lesson);
  assert.deepEqual(unpacked(packed(lesson)), lesson);
  const href = addressWith("http://host/?model=photos&lesson=own&step=1", lesson);
  assert.match(href, /^[\x21-\x7e]+$/);
  assert.equal(new URL(href).search, "?model=photos&lesson=own&step=1");
  assert.deepEqual(lessonOfAddress(href), lesson);
  assert.equal(lessonOfAddress("http://host/?a=1#elsewhere"), null);
});

test("a view with as much of an experiment as a link can hold is read again", () => {
  const scattered = Array.from({ length: 144 }, (_, at) => at).filter((at) => at % 2 === 0);
  const experiment = written([
    { kind: "remove", patches: scattered },
    { kind: "replace", patches: scattered.map((at) => at + 1), by: "black" },
  ]);
  assert.ok(experiment.length > 300 && fitsLink(experiment), experiment);
  const selection = {
    ...view,
    beside: "experiment",
    experiment,
    maps: Array(5).fill("a".repeat(40)).join("."),
  };
  const collected = {
    title: "",
    steps: [stepOf(selection, { model: "photos", example: "dog" }, Object.keys(selection))],
  };
  assert.deepEqual(lessonInFile(fileText(collected)).steps, collected.steps);
  assert.deepEqual(unpacked(packed(collected)).steps, collected.steps);
  const book = lessonBook(storageOf(new Map()));
  createShelf(book, () => null, null).put(/** @type {any} */ (collected));
  assert.deepEqual(createShelf(book, () => null, null).draft().steps, collected.steps, "after a reload");
});

test("what is no lesson is refused with a sentence", () => {
  for (const wrong of [null, 3, "x", [], {}, { steps: {} }])
    misfit(() => checkedLesson(wrong), "ownNoLesson");
  misfit(() => lessonInFile("{"), "ownNoLesson");
  misfit(() => lessonInFile(" ".repeat(MOST.file + 1)), "ownLargeFile");
  misfit(() => checkedLesson({ steps: Array(MOST.steps + 1).fill(step()) }), "ownManySteps");
  misfit(() => checkedLesson({ title: "a".repeat(MOST.title + 1), steps: [] }), "ownLongText");
  misfit(() => checkedLesson({ steps: [step({ question: 3 })] }), "ownLongText");
  misfit(() => checkedLesson({ steps: [step({ way: "dance" })] }), "ownNoWay");
  for (const wrong of [
    null,
    [],
    { model: "photos" },
    { ...view, layer: {} },
    { ...view, panel: "a".repeat(MOST.value + 1) },
    { ...view, ["a".repeat(MOST.name + 1)]: 1 },
    { ...view, toString: 1 },
    JSON.parse('{"model": "a", "example": "b", "__proto__": 1}'),
    { ...view, layer: NaN },
  ]) {
    misfit(() => checkedLesson({ steps: [{ ...step(), view: wrong }] }), "ownNoView");
  }
  misfit(
    () => packed({ title: "", steps: Array(MOST.steps).fill(step({ text: "a".repeat(MOST.text) })) }),
    "ownLongLink",
  );
  for (const cut of ["", "#", "abc", packed(lesson).slice(0, -3)])
    misfit(() => unpacked(cut), "ownBrokenLink");
  misfit(() => unpacked("a".repeat(MOST.link + 1)), "ownLongLink");
});

test("a view is what the selection shows, and an own photo is in no link", () => {
  const selection = { ...view, step: 3, lesson: "ask", partner: 7, lent: {} };
  const { view: found } = stepOf(
    selection,
    { model: "photos", example: "dog", untrained: "1", size: "144" },
    ["panel", "layer", "head", "lesson", "step", "colours"],
  );
  assert.deepEqual(found, { ...view, untrained: "1", size: "144" });
  assert.deepEqual(originOf({ model: "photos", example: "dog" }, { state: found }), {
    model: "photos",
    example: "dog",
    untrained: "1",
    size: "144",
  });
  assert.equal(stepOf(selection, { model: "photos" }, []), null);
  assert.equal(stepOf(selection, undefined, []), null);
});

test("steps change places, and not out of the list", () => {
  const ways = (from, to) =>
    withMoved({ title: "", steps: ["a", "b", "c"].map((text) => step({ text })) }, from, to)
      .steps.map(({ text }) => text)
      .join("");
  assert.deepEqual([ways(0, 1), ways(2, 0), ways(0, -1), ways(2, 3)], ["bac", "cab", "abc", "abc"]);
});

test("the shelf plays what was brought before what was collected, and says what it refused", () => {
  const kept = new Map();
  const book = lessonBook(storageOf(kept));
  assert.equal(createShelf(book, () => "http://host/", null).played(), null);
  createShelf(book, () => null, null).put({ title: "draft", steps: [step()] });
  const again = createShelf(book, () => "http://host/", null);
  assert.equal(again.played().title, "draft");
  const linked = createShelf(book, () => addressWith("http://host/", lesson), null);
  assert.deepEqual(
    [linked.played().title, linked.draft().title, linked.refused()],
    [lesson.title, "draft", null],
  );
  const broken = createShelf(book, () => "http://host/#own=abc", null);
  assert.deepEqual([broken.played().title, broken.refused().key], ["draft", "ownBrokenLink"]);
  kept.set("vitviz-lesson", '{"steps": 3}');
  assert.equal(createShelf(book, () => null, null).played(), null);
});

test("a question whose answer is not said is answered in words", () => {
  const kind = (way, right) => askedBy(step({ way, right })).question.kind;
  assert.deepEqual(
    ["* a\nb", "a\n*b\n\nc"].map((right) => kind("choose", right)),
    ["choose", "choose"],
  );
  assert.deepEqual(
    ["", "* a", "a\nb", "*a\n*b"].map((right) => kind("choose", right)),
    ["write", "write", "write", "write"],
  );
  assert.deepEqual(
    ["3", " -2.5 ", "0,85", "0,125", "1000", "", "many", "1e999", "1,000", "-12,345"].map((right) =>
      kind("number", right),
    ),
    [...Array(5).fill("number"), ...Array(5).fill("write")],
  );
  assert.deepEqual(
    ["1e308", "-1e308"].map((right) => kind("number", right)),
    ["write", "write"],
  ); // no line reaches beyond them
  const line = (right) => {
    const { min, max } = askedBy(step({ way: "number", right })).question;
    return [min, max];
  };
  assert.deepEqual(
    [line("144"), line("10"), line("0.3"), line("-7"), line("0")],
    [
      [0, 1000],
      [0, 100],
      [0, 1],
      [-10, 10],
      [0, 1],
    ],
  );
  const kept = { title: "", steps: [step({ way: "choose", right: "*a\nb" })] };
  assert.deepEqual(unpacked(packed(kept)), kept);
});

test("an own lesson is played: words are kept, a patch is compared with the truth", async () => {
  const source = await sourceOf("cls");
  await Promise.all(
    [...Array(source.manifest.model.depth).keys()].map((layer) => source.store.ensure(layer)),
  );
  const app = /** @type {any} */ (appOf(source));
  const own = played(
    checkedLesson({
      title: "<img src=x>",
      steps: [
        step({ question: "Where?", way: "patch", view: { ...view, direction: "to" } }),
        step({ question: "Why?", way: "write", answer: "Because." }),
        step({ text: "Look." }),
        step({ question: "What?", way: "choose", right: "fur\n* <b>grass\nsky" }),
        step({ question: "How many?", way: "number", right: "0,85" }),
      ],
    }),
  );
  const shape = app.shape();
  app.shape = () => ({ ...shape, lessons: [own] });
  app.select = (wanted) => {
    app.selection = { ...app.selection, ...wanted };
  };
  const guesses = new Map();
  app.course = createCourse(
    app,
    [own],
    { recall: (key) => guesses.get(key), keep: (key, entry) => guesses.set(key, entry) },
    new PhotoStore(),
    () => false,
    NO_OUTCOMES,
    () => {},
  );
  app.course.start("own");
  assert.equal(titleOf(app, own), "<img src=x>");
  assert.equal(app.selection.direction, "from", "the patch is one that the token looks at");
  assert.deepEqual([app.selection.overlay, app.course.shows(), app.course.takes()], ["none", [], true]);
  app.course.take(source.grid.prefix);
  app.course.reveal();
  assert.deepEqual(
    [app.selection.overlay, app.selection.layer, app.selection.head, app.selection.token],
    ["attention", 1, 1, 5],
  );
  assert.match(gapText(app, app.course.truth()), /times/);
  app.course.go(2);
  assert.equal(stepText(app, "question"), "Why?");
  app.course.reveal();
  assert.equal(app.course.revealed(), false, "nothing was written yet");
  app.course.put("fur");
  app.course.reveal();
  assert.match(gapText(app, app.course.truth()), /fur/);
  assert.equal(stepText(app, "why"), "Because.");
  app.course.go(3);
  assert.deepEqual(
    [stepText(app, ""), app.course.question(), app.selection.overlay],
    ["Look.", null, "attention"],
  );
  assert.equal(new Set(own.steps.map(({ id }) => id)).size, 5, "guesses stay with their questions");
  app.course.start("own", 4);
  assert.deepEqual(
    [app.course.shows(), app.selection.overlay],
    [[], "none"],
    "nothing is seen before the guess",
  );
  const { options } = app.course.question();
  assert.deepEqual(
    options.map((option) => optionText(app, option)),
    ["fur", "<b>grass", "sky"],
  );
  const [wrong] = options;
  app.course.put(wrong);
  assert.equal(codeOf(app, wrong).length, 2, "a class can vote on it");
  app.course.reveal();
  assert.match(gapText(app, app.course.truth()), /^Not so\.\sYou: fur\s+It is: <b>grass$/);
  app.course.go(5);
  app.course.put(0.9);
  app.course.reveal();
  assert.match(gapText(app, app.course.truth()), /^Far off\.\sYou: 0\.9\s+It is: 0\.85$/);
});

test("a view is collected while a lesson is open, and every letter is kept", (context) => {
  const { body, button } = openPage(context);
  const shelf = createShelf(lessonBook(storageOf(new Map())), () => null, null);
  const panels = [{ id: "attention", link: ["token"] }, { id: "rollout" }];
  const shape = { panels, grid: { prefix: 1, rows: 2, cols: 2 } };
  const collected = [];
  const app = /** @type {any} */ ({
    t: (key) => STRINGS.en[key],
    panels,
    selection: {
      panel: "rollout",
      layer: 3,
      head: 1,
      lesson: "ask",
      step: 2,
      beside: "",
      token: 2,
      overlay: "none",
    },
    taste: {},
    shape: () => shape,
    page: { link: () => "https://host/?lesson=ask&step=2" },
    source: { manifest: { link: { model: "photos", example: "dog" } } },
    teaching: { shelf, collect: (one) => collected.push(shelf.put(one)) },
  });
  const own = createOwnLesson(
    app,
    () => "",
    () => {},
  );
  body.append(own);
  button(STRINGS.en.ownAdd).click();
  const [{ view }] = shelf.draft().steps;
  assert.deepEqual([view.panel, view.layer, view.head, view.lesson], ["rollout", 3, 1, undefined]);
  const before = collected.length;
  const title = body.querySelector("input");
  title.value = "Cats";
  title.send("input");
  const text = body.querySelector("textarea");
  text.value = "Look";
  text.send("input");
  const { title: kept, steps } = shelf.draft();
  assert.deepEqual([kept, steps[0].text, collected.length], ["Cats", "Look", before]);
});

test("what is cleared, removed or replaced comes back by Undo, also in a list that is opened anew", (context) => {
  const { body, button } = openPage(context);
  const shelf = createShelf(lessonBook(storageOf(new Map())), () => null, null);
  shelf.put(lesson);
  const app = /** @type {any} */ ({
    t: (key) => STRINGS.en[key],
    panels: [],
    teaching: { shelf, collect: shelf.put },
  });
  const open = () =>
    body.replaceChildren(
      createOwnLesson(
        app,
        () => "",
        () => {},
      ),
    );
  const [stepsOf, undo] = [() => shelf.draft().steps.length, () => button("Undo")];
  open();
  assert.equal(undo().getAttribute("aria-disabled"), "true");
  undo().click();
  button("Clear the lesson").click();
  button("Clear the lesson").click(); // nothing is there to be cleared
  assert.deepEqual([stepsOf(), body.querySelector("input").value], [0, ""]);
  undo().click();
  assert.deepEqual([shelf.draft(), body.querySelector("input").value], [lesson, lesson.title]);
  button("✕").click();
  open();
  undo().click();
  assert.deepEqual(shelf.draft(), lesson);
  undo().click(); // and once more
  assert.equal(stepsOf(), 1);
});
