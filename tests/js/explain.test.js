/**
 * Explanations: the values of Python, fetched one by one when first needed; and a fair test that the host
 * does in steps.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { nameOf, readExplanation } from "../../vitviz/viewer/data/explanations.js";
import { FairTest, readResult } from "../../vitviz/viewer/data/fairtest.js";
import { stageSaves } from "../../vitviz/viewer/state/saves.js";
import { Source } from "../../vitviz/viewer/data/source.js";
import {
  MOST_MAPS,
  mainExplainer,
  questionOf,
  shownExplainers,
  targetOf,
  toggled,
  scoreOf,
} from "../../vitviz/viewer/state/explaining.js";
import { overlayOf } from "../../vitviz/viewer/state/overlays.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { pointOf } from "../../vitviz/viewer/panels/explain/removalchart.js";
import { readLink, writeLink } from "../../vitviz/viewer/state/link.js";
import { panelOf } from "../../vitviz/viewer/state/panels.js";
import { startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { spanOf, ticksOf } from "../../vitviz/viewer/maths/lines.js";
import { writeSafetensors } from "../../vitviz/viewer/maths/safetensors.js";
import {
  className,
  costText,
  explainerName,
  fairSentence,
  fallingOf,
} from "../../vitviz/viewer/text/explaining.js";
import { granted } from "../../vitviz/viewer/text/refusal.js";
import { whereExplained } from "../../vitviz/viewer/text/where.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, assertClose, fixtureOf, hostOnly, until, withFacts } from "./fixture.js";

const t = translator("en");
const cls = fixtureOf("cls");

/** An app for a fixture; `changes` of the selection are checked as those of a link. */
function appFor(
  { manifest, buffers },
  changes = {},
  fetchFile = async ({ path }) => buffers[path],
  ask = null,
) {
  const source = new Source(manifest, fetchFile, hostOnly(ask), () => {});
  const shape = { ...source.shape, panels: PANELS, besides: [] };
  const selection = validSelection(
    { overlay: "explain", token: manifest.pass.first.token, ...changes },
    startSelection(shape),
    shape,
  );
  return { t, source, selection, shape, language: "en", taste: { ...startTaste(PANELS), colours: "magma" } };
}

/** Two pictures side by side in the model of a fixture; the host answers with zeros and what it was asked. */
async function pair(name, changes = {}, second = {}) {
  const { manifest, buffers } = fixtureOf(name);
  const asked = [];
  const tokens = manifest.model.num_tokens;
  const buffer = writeSafetensors({
    values: { shape: [tokens], data: new Float32Array(tokens) },
    cost: { shape: [3], data: Float32Array.of(1, 1, 0) },
    likeness: { shape: [1], data: Float32Array.of(0.834) },
  });
  const ask = async (_name, params) => {
    asked.push(params);
    return { buffer };
  };
  const late = manifest.model.explainers.map((one) => ({ ...one, late: true }));
  const model = { ...manifest.model, explainers: late };
  const of = { buffers, manifest: { ...manifest, model } };
  const own = Object.entries(manifest.files).filter(([file]) => !file.startsWith("explain-"));
  of.manifest.files = Object.fromEntries(own);
  const app = appFor(of, changes, undefined, ask);
  const pass = { ...manifest.pass, id: "other", ...second.pass };
  const there = { ...manifest, model: { ...model, ...second.model }, pass };
  const other = appFor({ buffers, manifest: there }, {}, undefined, ask);
  await Promise.all([app.source.loaded(false), other.source.loaded(false)]);
  return { app, asked, other: other.source };
}

const keysOf = ({ source }) => source.explanations.all.map(({ key }) => key);

test("another picture beside gives a model without classes something to explain", async () => {
  const { app, asked, other } = await pair("registers");
  const { explanations } = app.source;
  const free = keysOf(app);
  assert.ok(!free.includes("generic") && free.includes("rollout") && explanations.compares);
  assert.equal(targetOf(app.selection, app.source), null);
  explanations.meet(other);
  assert.equal(targetOf(app.selection, app.source), "like");
  assert.ok(["generic", "occlusion", ...free].every((key) => keysOf(app).includes(key)));
  const file = explanations.of(questionOf(app.selection, app.source, { key: "generic" }));
  await file.fetch();
  assert.ok(Math.abs(file.here.likeness - 0.834) < 1e-6);
  assert.deepEqual(asked.at(-1), {
    id: app.source.manifest.pass.id,
    name: "explain-generic-" + app.selection.token + "-like",
    other: { id: "other" },
  });
  const generic = { ...app, selection: { ...app.selection, explainer: "generic" } };
  assert.deepEqual(stageSaves(generic, { shown: overlayOf(generic, 0) }).figures, ["explanation"]);
  explanations.meet(null);
  assert.deepEqual([keysOf(app), targetOf(app.selection, app.source)], [free, null]);
  explanations.meet(other);
  assert.equal(explanations.of(questionOf(app.selection, app.source, { key: "generic" })).here, null);
});

test("with classes the likeness is one more target, of another picture in the same model as it is", async () => {
  const { app, other } = await pair("cls", { target: "like" });
  const answer = app.source.manifest.pass.predictions[0].index;
  assert.equal(targetOf(app.selection, app.source), answer); // a link, before the picture is beside
  app.source.explanations.meet(other);
  assert.equal(targetOf(app.selection, app.source), "like");
  assert.equal(targetOf({ ...app.selection, target: "answer" }, app.source), answer);
  assert.equal(className("like", app), "likeness to the picture beside");
  assert.match(
    PANELS.find(({ id }) => id === "explain").code(app.selection, app.source).vitviz,
    /features\(/,
  );
  const explain = PANELS.find(({ id }) => id === "explain");
  const pointed = { ...app.selection, target: "answer", token: 3, selected: 1 }; // the maps are of the selected one
  assert.match(explain.code(pointed, app.source).vitviz, /\], 1, 6/);
  const many = PANELS.find(({ id }) => id === "many");
  const album = ["a.jpg", "b.jpg"].map((name) => ({ name, file: {} }));
  assert.match(many.code({ ...app.selection, album }, app.source).vitviz, /"a\.jpg", "b\.jpg"/);
  album.push({ name: "Dog", file: undefined }); // an example, which is no file of the visitor's
  assert.equal(many.code({ ...app.selection, album }, app.source), null);
  assert.equal(app.source.explanations.liked, other);
  app.source.explanations.meet(null, true); // an experiment takes its place
  assert.equal(app.source.explanations.liked, other);
  assert.equal(targetOf(app.selection, app.source), answer);
  app.source.explanations.meet(null);
  assert.equal(app.source.explanations.liked, null);
  const twin = { ...app.source.manifest.model.key, untrained: true };
  for (const wrong of [{ model: { key: twin } }, { pass: { id: "fixture" } }, { pass: { changes: [{}] } }]) {
    if (wrong.pass?.id) wrong.pass.id = app.source.manifest.pass.id;
    const { other: unlike } = await pair("cls", {}, wrong);
    app.source.explanations.meet(unlike);
    assert.equal(targetOf(app.selection, app.source), answer, JSON.stringify(wrong));
  }
});

for (const fixture of FIXTURES) {
  const { name, expected, manifest, grid } = fixture;
  test(
    name + ": every explanation that the page brings has the values of Python, on a scale of its own",
    async () => {
      for (const [key, values] of Object.entries(expected.explained)) {
        const app = appFor(fixture, { explainer: key });
        assert.equal(overlayOf(app, 0).missing, "explaining");
        await until(() => overlayOf(app, 0).values);
        const { values: drawn, scale, colours, uniform } = overlayOf(app, 0);
        const { signed, needs } = manifest.model.explainers.find((one) => one.key === key);
        assertClose(drawn.subarray(grid.prefix), values.slice(grid.prefix), 1e-6);
        if (grid.prefix > 0)
          assert.equal(drawn.subarray(0, grid.prefix).every(Number.isNaN), !needs.includes("token"));
        const largest = Math.max(...values.slice(grid.prefix).map(Math.abs));
        assertClose([scale.min, scale.max], [signed ? -largest : 0, largest], 1e-6);
        assert.deepEqual([colours, uniform], [signed ? "diverging" : "magma", null]);
        assert.deepEqual(stageSaves(app, { shown: { values: drawn } }).figures, ["explanation"]);
      }
      const absent = appFor(fixture, { explainer: "occlusion", token: grid.tokens - 1 });
      // no class: another explainer
      const wanted = manifest.pass.predictions.length > 0 ? "explainAbsent" : "explaining";
      assert.equal(
        overlayOf({ ...absent, selection: { ...absent.selection, token: manifest.pass.first.token } }, 0)
          .missing,
        wanted,
      );
    },
  );
}

test("what the model does not have is left out, and something is always shown", () => {
  const { source, selection } = appFor(cls, {
    maps: "generic.nothing.generic.attention",
    explainer: "nothing",
  });
  const keys = (one, from = source) => shownExplainers(one, from).map(({ key }) => key);
  assert.deepEqual(keys(selection), ["generic", "attention"]);
  assert.equal(mainExplainer(selection, source).key, "attention");
  assert.deepEqual(keys({ maps: "" }), ["attention", "attention_gradient"]);
  assert.equal(keys({ maps: source.explanations.all.map(({ key }) => key).join(".") }).length, MOST_MAPS);
  const registers = appFor(fixtureOf("registers")).source;
  assert.deepEqual(keys({ maps: "generic" }, registers), ["attention", "rollout"]);
  assert.equal(targetOf({ target: 3 }, registers), null);
  const [answer] = cls.manifest.pass.predictions;
  assert.deepEqual(
    ["answer", 2, 99].map((target) => targetOf({ target }, source)),
    [answer.index, 2, answer.index],
  );
  assert.deepEqual([toggled(["a", "b"], "a"), toggled(["a"], "a"), toggled(["a"], "b")], ["b", "a", "a.b"]);
});

test("explainer, class and maps stand in the link, and nonsense in it changes nothing", () => {
  const { selection, shape, taste } = appFor(cls, {
    panel: "explain",
    explainer: "generic",
    maps: "generic.rollout",
    target: 4,
  });
  const href = writeLink("http://x/", selection, taste, {}, shape);
  const read = validSelection(readLink(href, PANELS), startSelection(shape), shape);
  assert.deepEqual([read.explainer, read.maps, read.target], ["generic", "generic.rollout", 4]);
  for (const wrong of [
    { explainer: "<b>" },
    { explainer: "A" },
    { maps: "a,b" },
    { target: -1 },
    { target: "x" },
    { target: 1.5 },
    { explainer: 5 },
    { maps: 5 },
  ]) {
    assert.deepEqual(validSelection(wrong, selection, shape), selection, JSON.stringify(wrong));
  }
  const elsewhere = writeLink("http://x/", { ...selection, panel: "model" }, taste, {}, shape);
  assert.equal(
    new URL(elsewhere).searchParams.get("explainer"),
    "generic",
    "its map is still over the picture",
  );
  assert.equal(new URL(elsewhere).searchParams.get("maps"), null);
});

test("a name holds a token and a class only where the explainer asks for them", () => {
  const named = (...needs) => nameOf({ key: "x", needs }, 4, 2);
  assert.deepEqual(
    [named(), named("token"), named("class"), named("token", "class")],
    ["explain-x-0-any", "explain-x-4-any", "explain-x-0-2", "explain-x-4-2"],
  );
});

test("the host makes one explanation at a time, and a failure says why and can be tried again", async () => {
  const manifest = withFacts(cls.manifest, {
    files: { ...cls.manifest.files },
    model: { explainers: cls.manifest.model.explainers.map((one) => ({ ...one, late: true })) },
  });
  for (const name of Object.keys(manifest.files))
    if (name.startsWith("explain-")) delete manifest.files[name];
  const asked = [];
  let [running, refuses] = [0, true];
  const ask = async (what, { name }) => {
    assert.deepEqual([what, running], ["late", 0]);
    running += 1;
    asked.push(name);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running -= 1;
    if (refuses) return granted({ error: "Busy.", errors: { ko: "바쁨." } });
    return { data: cls.expected.files[name + ".safetensors"] };
  };
  const { source } = appFor({ ...cls, manifest }, {}, async ({ path }) => cls.buffers[path], ask);
  const file = (key) =>
    source.explanations.of({ key, token: 0, target: cls.manifest.pass.predictions[0].index });
  for (const key of ["attention", "generic"]) assert.equal(file(key).get(), null);
  await until(() => file("generic").error);
  assert.equal(file("generic").error.cause.reasons.ko, "바쁨.");
  refuses = false;
  for (const key of ["attention", "generic"]) {
    file(key).retry();
    file(key).get();
  }
  await until(() => file("generic").here);
  assert.equal(asked.length, 4);
  assertClose(file("generic").here.values, cls.expected.explained.generic, 1e-6);
  assert.throws(
    () => readExplanation(cls.buffers["features.safetensors"], manifest.model.explainers[0], manifest),
    /no tensor named values/,
  );
});

test("a map of the host's is not said to be computed in this page", async () => {
  const manifest = withFacts(cls.manifest, {
    model: { explainers: cls.manifest.model.explainers.map((one) => ({ ...one, late: true })) },
    files: { ...cls.manifest.files },
  });
  for (const name of Object.keys(manifest.files))
    if (name.startsWith("explain-")) delete manifest.files[name];
  const made = (name) => cls.expected.files[name + ".safetensors"];
  const backend = {
    ask: null,
    explains: () => true,
    model: () => ({ state: "here" }),
    answererOf:
      () =>
      async (_, { name }) =>
        name.startsWith("explain-generic")
          ? { data: made(name) }
          : {
              buffer:
                cls.buffers[name + ".safetensors"] ??
                Uint8Array.from(Buffer.from(made(name), "base64")).buffer,
            },
  };
  const source = new Source(
    manifest,
    async ({ path }) => cls.buffers[path],
    /** @type {any} */ (backend),
    () => {},
  );
  for (const [maps, says] of [
    ["attention.rollout", "computedHere"],
    ["attention.generic", ""],
  ]) {
    const app = appFor(cls, { maps });
    Object.assign(app, { source, backend });
    const files = shownExplainers(app.selection, source).map((one) =>
      source.explanations.of(questionOf(app.selection, source, one)),
    );
    for (const file of files) file.get();
    await until(() => files.every((file) => file.here));
    assert.equal(whereExplained(/** @type {any} */ (app)), says && t("computedHere"), maps);
  }
});

test("in a page without a host an explainer that its engine lacks has only what the page brought", () => {
  const [one] = cls.manifest.model.explainers;
  const explainers = [one, { ...one, key: "new_one" }].map((each) => ({ ...each, late: false }));
  const manifest = withFacts(cls.manifest, {
    model: { explainers },
    files: Object.fromEntries(
      Object.entries(cls.manifest.files).filter(([name]) => !name.startsWith("explain-")),
    ),
  });
  const backend = /** @type {any} */ ({ ask: null, explains: () => true, answererOf: () => null });
  const { explanations } = new Source(
    manifest,
    async ({ path }) => cls.buffers[path],
    backend,
    () => {},
  );
  assert.deepEqual(
    explainers.map(({ key }) => explanations.of({ key, token: 0, target: 0 }).exists),
    [true, false],
  );
});

test("classes have their names, and where too many are to be sent only those that are listed", () => {
  const app = appFor(cls);
  assert.deepEqual(
    cls.manifest.model.labels.map((_, index) => className(index, app)),
    cls.manifest.model.labels,
  );
  const many = appFor({
    ...cls,
    manifest: withFacts(cls.manifest, { model: { labels: null }, pass: { labels: { 5: "a name" } } }),
  });
  assert.deepEqual(
    [5, 4].map((index) => className(index, many)),
    ["a name", "class 4"],
  );
  const one = cls.manifest.model.explainers.find(({ key }) => key === "random");
  assert.deepEqual(
    ["en", "ko-KR"].map((language) => explainerName(one, { language })),
    ["random", "무작위"],
  );
});

test("a cost is what was counted here, and before that what the definition says", () => {
  const one = /** @type {any} */ ({ passes: 244 });
  assert.equal(costText(one, null, t), "passes: about 244");
  assert.equal(costText({ ...one, passes: 0 }, null, t), "no pass");
  const ran = (forward, backward, seconds) =>
    costText(one, /** @type {any} */ ({ forward, backward, seconds }), t);
  assert.deepEqual(
    [ran(1, 1, 0.0451), ran(236.8, 0, 3.14), ran(1, 0.17, 0), ran(0, 0, 0.0001)],
    ["passes: 3, 45 ms here", "passes: 237, 3.1 s here", "passes: 1.3", "no pass, 1 ms here"],
  );
  const off = (gap) =>
    costText(one, { values: new Float32Array(1), forward: 32, backward: 32, seconds: 0, gap }, t);
  assert.deepEqual(
    [off(0.05), off(0.178)],
    ["passes: 96", "passes: 96. Not exact: the sum of its values is 17.8% off."],
  );
});

const QUESTION = { explainers: ["generic"], token: 0, target: 2 };
const CURVE = {
  first: [0.9, 0.1],
  last: [0.9, 0.8],
  deletion: 0.5,
  insertion: 0.85,
  gain: 0.35,
  beaten: 20,
  sentence: { en: "good" },
};
const RESULT = {
  target: 2,
  removed: [0, 1],
  band: [
    [0.9, 0.2],
    [0.9, 0.4],
  ],
  orders: 20,
  maps: { generic: CURVE, centre: CURVE },
};

/** A fair test with a host that answers with the replies one after another. */
function tester(replies) {
  const asked = [];
  const ask = async (what, params) => {
    asked.push([what, params]);
    const reply = replies.shift();
    return granted(typeof reply === "function" ? reply() : reply);
  };
  const stop = new AbortController();
  const shares = [];
  const made = new FairTest(
    cls.manifest,
    { id: "fixture" },
    ask,
    stop.signal,
    () => shares.push([made.share, made.waiting]),
    async () => {},
  );
  return { made, asked, shares, stop };
}

test("a fair test asks until it has the result, and waits while others are served", async () => {
  const busy = { error: "Busy.", busy: true };
  const { made, asked, shares } = tester([
    { done: 1, all: 4 },
    busy,
    busy,
    { done: 2, all: 4 },
    { done: 4, all: 4, result: RESULT, seconds: 2 },
  ]);
  await made.run(QUESTION);
  assert.deepEqual([asked.length, asked[0]], [5, ["fair", { id: "fixture", ...QUESTION }]]);
  assert.deepEqual(shares, [
    [0, false],
    [0.25, false],
    [0.25, true],
    [0.25, true],
    [0.5, false],
    [1, false],
  ]);
  assert.deepEqual([made.running, made.of(QUESTION).seconds], ["", 2]);
  assert.equal(made.of({ ...QUESTION, target: 1 }), null, "a result is of one question");
});

test("a test that is stopped, replaced or refused asks no more", async () => {
  const { made, asked } = tester([
    () => {
      made.cancel();
      return { done: 1, all: 4 };
    },
  ]);
  await made.run(QUESTION);
  assert.deepEqual([asked.length, made.running, made.of(QUESTION)], [1, "", null]);

  const other = tester([
    () => {
      other.made.follow({ ...QUESTION, token: 1 });
      return { done: 1, all: 4 };
    },
  ]);
  await other.made.run(QUESTION);
  assert.deepEqual([other.asked.length, other.made.running], [1, ""]);

  const refused = tester([{ error: "No such class." }]);
  await refused.made.run(QUESTION);
  assert.deepEqual([refused.made.error.message, refused.made.running], ["No such class.", ""]);
  refused.made.follow({ ...QUESTION, target: 1 });
  assert.equal(refused.made.error, null, "it was of another question");

  const closed = tester([
    () => {
      closed.stop.abort();
      return { done: 1, all: 4 };
    },
  ]);
  await closed.made.run(QUESTION);
  assert.equal(closed.asked.length, 1);

  const forever = tester(Array.from({ length: 200 }, () => ({ error: "Busy.", busy: true })));
  await forever.made.run(QUESTION);
  assert.equal(forever.made.error.message, "Busy.");
  assert.ok(forever.asked.length < 100);

  assert.equal(
    new FairTest(cls.manifest, { id: "fixture" }, null, new AbortController().signal, () => {}).isPossible(
      QUESTION,
    ),
    false,
  );
});

test("a fair test of a likeness is of one picture beside, and needs no class", async () => {
  const like = { ...QUESTION, target: /** @type {const} */ ("like"), other: { id: "cat" } };
  const result = { ...RESULT, target: null };
  const { made, asked } = tester([{ done: 4, all: 4, result, seconds: 2 }]);
  await made.run(like);
  assert.deepEqual(asked, [["fair", { id: "fixture", ...like }]]);
  assert.equal(made.of(like)?.result, result);
  assert.equal(made.of({ ...like, other: { id: "panda" } }), null);
  const { manifest } = fixtureOf("registers");
  for (const model of [manifest.model, { ...manifest.model, outputs: "value" }]) {
    const without = new FairTest(
      { ...manifest, model },
      { id: "a" },
      async () => ({}),
      made.signal,
      () => {},
    );
    assert.deepEqual([without.isPossible(like), without.isPossible(QUESTION)], [true, false]);
  }
});

test("words and numbers of a fair test say whether a probability or a likeness falls", () => {
  const explanations = { other: { manifest: { photo: { name: "cat.jpg" } } } };
  const app = /** @type {any} */ ({ t, source: { explanations } });
  const { score, what, measure, text } = fallingOf("like", app);
  assert.deepEqual(scoreOf("like", app.source), { score: "likeness", target: "cat.jpg" });
  assert.deepEqual(
    [score, what, measure, text(-0.061)],
    [
      "likeness to cat.jpg",
      "the likeness to cat.jpg",
      "Likeness to cat.jpg: cosine of the features, at most 1",
      "−0.06",
    ],
  );
  const maps = { generic: { gain: 0.3, beaten: 20 }, centre: { gain: 0.1, beaten: 10 } };
  const say = (target) =>
    fairSentence("generic", "generic", /** @type {any} */ ({ target, maps, orders: 20 }), score, t);
  const told =
    "on this picture generic orders the patches better than 20 of 20 random orders and than the centre";
  assert.deepEqual([say(2), say(null)], [told, "measured by the likeness to cat.jpg, " + told]);
  assert.deepEqual(spanOf([[0.834, -0.03]]), [-0.04, 1]);
  assert.deepEqual(spanOf([[0.3, 0]]), [0, 0.4]);
  assert.deepEqual(
    [ticksOf([0, 0.4]), ticksOf([-0.2, 0.4]), ticksOf([-0.02, 0.4])],
    [
      [0, 0.2, 0.4],
      [-0.2, 0, 0.4],
      [0, 0.4],
    ],
  );
});

test("a fair test needs two patches that it can take out: with one it never ended", () => {
  const { rows, cols } = cls.manifest.model.grid;
  const testOf = (left) => {
    const removed = [...Array(rows * cols - left).keys()];
    const manifest = { ...cls.manifest, pass: { ...cls.manifest.pass, removed } };
    return new FairTest(
      manifest,
      { id: "a" },
      async () => ({}),
      new AbortController().signal,
      () => {},
    );
  };
  assert.deepEqual(
    [testOf(1), testOf(2)].map((test) => test.isPossible(QUESTION)),
    [false, true],
  );
});

test("curves that are not whole are refused", () => {
  assert.equal(readResult(RESULT, QUESTION), RESULT);
  for (const broken of [
    { removed: [0] },
    { band: [[0.9, 0.2], [0.9]] },
    { maps: { generic: CURVE } },
    { maps: { ...RESULT.maps, generic: { ...CURVE, last: [0.9, null] } } },
  ]) {
    assert.throws(() => readResult({ ...RESULT, ...broken }, QUESTION), /are missing/);
  }
  assert.deepEqual(
    [
      pointOf(0, 0, [0, 1], 300, 100),
      pointOf(0.5, 1, [0, 1], 300, 100),
      pointOf(1, 0.1, [0, 0.2], 300, 100),
      pointOf(1, 0, [-0.1, 0.1], 300, 100),
    ],
    ["0.0,100.0", "150.0,0.0", "300.0,50.0", "300.0,50.0"],
  );
});

test("the maps side by side and the test are saved as tables", async () => {
  const app = appFor(cls, { maps: "attention.generic" });
  const { saves } = panelOf(PANELS, "explain");
  assert.deepEqual(saves(/** @type {any} */ (app), null), { tables: {}, figures: [] });
  for (const key of ["attention", "generic"])
    overlayOf({ ...app, selection: { ...app.selection, explainer: key } }, 0);
  const target = cls.manifest.pass.predictions[0].index;
  await until(() => app.source.explanations.of({ key: "generic", token: 0, target }).here);
  app.source.fairTest.done = {
    key: ["attention", "generic", 0, target].join("/"),
    seconds: 1,
    result: { ...RESULT, maps: { ...RESULT.maps, attention: CURVE } },
  };
  const {
    explanations,
    fair_test: figures,
    fair_curves: curves,
  } = saves(/** @type {any} */ (app), null).tables;
  assert.deepEqual(explanations.columns.slice(4), ["attention", "generic"]);
  assertClose(
    explanations.rows.map((row) => row[5]),
    cls.expected.explained.generic,
    1e-6,
  );
  const falls = ["probability", cls.manifest.pass.predictions[0].label];
  assert.deepEqual(figures.rows[0], ["generic", 0.5, 0.85, 0.35, 20, 20, ...falls]);
  assert.deepEqual(figures.columns.slice(-2), ["score", "target"]);
  assert.deepEqual(curves.columns.slice(-2), ["score", "target"]);
  assert.deepEqual(curves.rows[1].slice(-2), falls);
  assert.deepEqual(
    curves.rows.map((row) => row.slice(0, 5)),
    [
      [0, 0.9, 0.9, 0.9, 0.9],
      [1, 0.2, 0.4, 0.1, 0.8],
    ],
  );
});
