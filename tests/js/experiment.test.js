/** Experiments: their text goes round, names only what a model has, and the newest question wins. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { gridOf } from "../../vitviz/viewer/maths/geometry.js";
import { experiment as panel } from "../../vitviz/viewer/panels/experiment.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { Source } from "../../vitviz/viewer/data/source.js";
import { createSecondSource } from "../../vitviz/viewer/session/secondsource.js";
import { besidesOf } from "../../vitviz/viewer/state/comparable.js";
import {
  MOST_IN_LINK,
  OPERATED,
  broughtBack,
  drawn,
  isExperiment,
  isSteered,
  read,
  removedIn,
  withOne,
  written,
} from "../../vitviz/viewer/state/experiment.js";
import { readLink, writeLink } from "../../vitviz/viewer/state/link.js";
import { codeOf } from "../../vitviz/viewer/text/python.js";
import { carried, startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { changeText } from "../../vitviz/viewer/text/changes.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";
import { changeName, tokenTitle, sideNames, translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, OPERATED as PASSES, appOf, fixtureOf, hostOnly, withFacts } from "./fixture.js";
import { openPage, settled } from "./page.js";
import { appOf as walkerOf } from "./walk.js";

const boundsOf = ({ manifest, grid }) => ({
  depth: manifest.model.depth,
  heads: manifest.model.num_heads,
  grid,
});
const shapeOf = (one) => ({
  ...boundsOf(one),
  panels: PANELS,
  besides: besidesOf(one.manifest, null, true, true).map(({ key }) => key),
});

/** Lets promises that are kept go on. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 0));

for (const one of PASSES) {
  test(
    one.name + ": Python's interventions become a text and come back, and are told in Python's words",
    () => {
      const { changes } = one.manifest.pass;
      const text = written(changes);
      assert.match(text, /^[a-z0-9_.*-]+$/, "an address needs no escapes for it");
      assert.deepEqual(read(text), changes);
      assert.ok(isExperiment(text, boundsOf(one)));
      for (const [language, sentences] of Object.entries(one.expected.sentences)) {
        assert.deepEqual(
          changes.map((change) => changeText(change, translator(language))),
          sentences,
        );
      }
      const patches = one.grid.tokens - one.grid.prefix;
      assert.deepEqual(
        [...removedIn(changes, patches)].sort((a, b) => a - b),
        one.expected.removed,
      );
    },
  );
}

test("what no list writes is no experiment, and neither is what the model does not have", () => {
  const cls = fixtureOf("cls"); // 4 x 4 patches, 3 layers, 2 heads
  const bounds = boundsOf(cls);
  for (const text of [
    "remove",
    "remove_",
    "remove_3-1",
    "remove_-1",
    "remove_1.5.x",
    "remove_1*",
    "remove_0-999999999",
    "head_1_1",
    "head_1_1_off",
    "cut_0.1.2_all_all",
    "even_cls_1_1",
    "hug_1",
    "constructor_1",
    "__proto___1",
    "shuffle_2_1e3",
    "add_cls_2_1_nan",
    "add_cls_2_1_1.",
    "add_cls_2_1_--1",
    "add_cls_2_1_1e3",
    "add_cls_2_1",
    "*",
    "remove_0-60000.0-60000",
    "remove_0-60000*keep_0-60000",
    7,
    null,
    ["remove_1"],
  ]) {
    assert.equal(read(text), null, String(text));
    assert.equal(isExperiment(text, bounds), false);
  }
  assert.deepEqual(read(""), []);
  for (const [text, good] of [
    ["remove_0-15", true],
    ["remove_16", false],
    ["head_2_1_zero", true],
    ["head_3_0_zero", false],
    ["head_0_2_mean", false],
    ["cut_16.0_all_all", true],
    ["cut_17.0_all_all", false],
    ["cut_patches-to-others_3_all", false],
    ["even_all_all", true],
    ["scramble_patches_2_9", true],
    ["transplant_cls_3_example-cat", true],
    ["transplant_0-15_0_example-red-panda", true],
    ["transplant_all_4_example-cat", false],
    ["transplant_16_0_example-cat", false],
    ["transplant_cls_1_model-x", false],
    ["transplant_cls_2_itself", true],
    ["add_cls_2_1_-1.5", true],
    ["add_0-15_0_6_0.25", true],
    ["add_all_0_6_1e-7", true],
    ["add_cls_3_1_1", false],
    ["add_16_0_1_1", false],
  ]) {
    assert.equal(isExperiment(text, bounds), good, String(text));
  }
});

test("a model is steered if its head reads classes from the tokens", () => {
  const found = ["cls", "no_cls", "distilled", "registers"].map((name) =>
    isSteered(fixtureOf(name).manifest),
  );
  assert.deepEqual(found, [true, true, true, false]);
  const { manifest } = fixtureOf("cls");
  for (const [pool, is] of Object.entries({ token_avg: true, map: false, "": false }))
    assert.equal(isSteered({ ...manifest, model: { ...manifest.model, pool } }), is, pool);
});

test("an experiment knows the picture beside whose place it took, and its link does not", () => {
  const photo = "photo-abc123";
  const besides = ["untrained", "example-cat", photo, OPERATED];
  const shape = { ...shapeOf(fixtureOf("cls")), besides };
  const start = startSelection(shape);
  const erased = { experiment: "remove_1", beside: OPERATED };
  const after = (beside) => validSelection(erased, validSelection({ beside }, start, shape), shape);
  const likedOf = (selection, base = start) => validSelection(selection, base, shape).liked;
  assert.deepEqual(
    ["example-cat", photo, "untrained", ""].map(after).map(({ liked }) => liked),
    ["example-cat", photo, "", ""],
  );
  const one = after("example-cat");
  assert.equal(likedOf({ experiment: "remove_1-2" }, one), "example-cat", "the next stroke");
  assert.equal(likedOf({ beside: "" }, one), "");
  assert.equal(likedOf({ beside: photo }, one), "");
  assert.equal(likedOf(one), "example-cat", "a reload has the whole selection");
  assert.equal(likedOf({ ...one, liked: "photo-zzzzzz" }), "", "it is forgotten");
  assert.equal(likedOf({ ...one, liked: { toString: () => "example-cat" } }), "");
  assert.equal(carried(one, shape.grid, shape.grid).liked, "", "another analysis");
  const link = writeLink("https://x.test/", one, startTaste(PANELS), { model: "m" }, shape);
  assert.doesNotMatch(link, /cat|liked/);
});

test("an experiment is in the link while it is shown, if it is short", () => {
  const cls = fixtureOf("cls");
  const shape = shapeOf(cls);
  const taste = startTaste(PANELS);
  const start = startSelection(shape);
  const linkOf = (selection) => writeLink("https://x.test/?model=m", selection, taste, { model: "m" }, shape);
  const selection = validSelection(
    { experiment: "remove_1-3.7*head_2_1_zero", beside: OPERATED },
    start,
    shape,
  );
  const link = linkOf(selection);
  assert.match(link, /beside=experiment/);
  assert.match(link, /experiment=remove_1-3\.7\*head_2_1_zero/);
  const again = validSelection(readLink(link, PANELS), start, shape);
  assert.deepEqual([again.experiment, again.beside], [selection.experiment, OPERATED]);
  assert.doesNotMatch(linkOf({ ...selection, beside: "" }), /experiment/);
  const long =
    written(
      Array.from({ length: 60 }, (_, at) => ({
        kind: "remove",
        patches: [at % 16, (at + 5) % 16, (at + 9) % 16],
      })),
    ) +
    "*" +
    written(
      Array.from({ length: 40 }, () => ({
        kind: "cut",
        edges: [
          [1, 2],
          [3, 4],
        ],
        layers: [0, 2],
        heads: "all",
      })),
    );
  assert.ok(long.length > MOST_IN_LINK);
  assert.doesNotMatch(
    linkOf(validSelection({ experiment: long, beside: OPERATED }, start, shape)),
    /experiment/,
  );
  assert.equal(
    validSelection({ beside: OPERATED }, start, shape).beside,
    "",
    "nothing stands beside for an empty list",
  );
  assert.equal(validSelection({ experiment: "" }, selection, shape).beside, "");
  const other = gridOf(fixtureOf("no_cls").manifest);
  assert.equal(
    carried(selection, cls.grid, other).experiment,
    "",
    "patches of another grid are other patches",
  );
  assert.equal(carried(selection, cls.grid, { ...cls.grid }).experiment, selection.experiment);
});

test("strokes of one brush are one entry, rivals replace each other, and patches come back", () => {
  const remove = (...patches) => ({ kind: "remove", patches });
  const black = (...patches) => ({ kind: "replace", patches, by: "black", seed: 0 });
  const off = (by) => ({ kind: "positions", by, seed: 0 });
  const list = [remove(3), remove(1, 3), black(5), remove(6), off("off"), off("shuffled")].reduce(
    (all, one) => withOne(all, one),
    [],
  );
  assert.deepEqual(list, [remove(1, 3), black(5), remove(6), off("shuffled")]);
  assert.deepEqual(withOne([black(1)], { ...black(2), by: "mean" }), [black(1), { ...black(2), by: "mean" }]);
  const add = (factor, patches) => ({ kind: "add", patches, layer: 1, toward: 2, factor });
  assert.deepEqual(withOne([add(1, [2, 3])], add(2, [2, 3])), [add(2, [2, 3])]);
  assert.deepEqual(withOne([add(1, [2, 3])], add(2, "cls")), [add(1, [2, 3]), add(2, "cls")]);
  assert.deepEqual(broughtBack(list, [3, 5]), [remove(1), remove(6), off("shuffled")]);
  assert.deepEqual(broughtBack([{ kind: "keep", patches: [2] }], [1]), [{ kind: "keep", patches: [1, 2] }]);
  const all = [...Array(16).keys()];
  assert.deepEqual(drawn(5, all, 3), drawn(5, all, 3));
  assert.notDeepEqual(drawn(5, all, 3), drawn(5, all, 4));
  assert.equal(new Set(drawn(20, all, 1)).size, 16);
});

test("an experiment stays beside until its next answer is here, and goes with its picture", async () => {
  const [intact, pass] = [FIXTURES, PASSES].map((all) => all.find(({ name }) => name === "cls"));
  const fetched = [];
  const fetchFile = async ({ path }) => {
    fetched.push(path);
    return pass.buffers[path];
  };
  const source = new Source(
    { ...intact.manifest, id: "a" },
    async ({ path }) => intact.buffers[path],
    null,
    () => {},
  );
  const shape = () => shapeOf(intact);
  const app = {
    backend: hostOnly(),
    source,
    shape,
    selection: startSelection(shape()),
    panel: () => ({}),
    taste: startTaste(PANELS),
    t: translator("en"),
    language: "en",
    pointer: { shownToken: () => app.selection.token },
    page: {},
  };
  const select = (wanted) => {
    app.selection = validSelection(wanted, app.selection, shape());
  };
  const asked = [];
  const second = createSecondSource(
    /** @type {any} */ (app),
    () => new Promise((resolve, reject) => asked.push({ resolve, reject })),
    fetchFile,
    () => {},
  );
  const answer = async (at, id) => {
    asked[at].resolve(withFacts(pass.manifest, { pass: { id } }));
    for (let turn = 0; turn < 20; turn++) await rest();
    return second.follow();
  };
  select({ experiment: "remove_1", beside: OPERATED });
  assert.equal(second.follow().app, null);
  const first = (await answer(0, "one")).app;
  const { source: one } = first;
  assert.equal(one.manifest.pass.id, "one");
  assert.deepEqual(sideNames(/** @type {any} */ (app), first), ["intact", "changed"]);
  assert.deepEqual(
    fetched.filter((path) => path.startsWith("layer")),
    [],
    "what is shown came ahead: no layer is needed",
  );
  select({ token: 3 });
  second.follow();
  await rest();
  assert.equal(
    fetched.filter((path) => path.startsWith("layer"))[0],
    "layer-02.safetensors",
    "until somebody looks at a token",
  );
  select({ experiment: "remove_1-2" });
  assert.equal(second.follow().app, first, "it stays while the next is on its way");
  assert.equal(second.follow().coming, true);
  select({ experiment: "remove_1-3" });
  second.follow();
  assert.equal((await answer(1, "late")).app, first, "an overtaken answer is not shown");
  const now = await answer(2, "two");
  assert.deepEqual([now.app.source.manifest.pass.id, now.coming], ["two", false]);
  assert.equal(now.app, first, "what draws the one draws the next");
  assert.deepEqual([one.disposed, first.source.disposed], [true, false]);
  select({ experiment: "remove_0-15" });
  second.follow();
  asked[3].reject(new Error("nothing would be left"));
  await rest();
  assert.deepEqual([second.follow().app, second.follow().error.message], [null, "nothing would be left"]);
  app.source = appOf({ ...source, manifest: withFacts(source.manifest, { pass: { id: "b" } }) });
  assert.deepEqual([second.follow().app, second.follow().error], [null, null]);
  assert.equal(asked.length, 5, "another picture is asked about anew");
});

test("the code after a transplant analyses the other photo too", () => {
  const manifest = /** @type {any} */ ({
    model: { name: "photos", key: { name: "photos" }, outputs: "one_of", position_kinds: [] },
    photo: { name: "dog.jpg" },
    pass: { changes: [] },
  });
  const changes = [{ kind: "transplant", patches: "cls", layer: 3, from: "my, cat.jpg, photos" }];
  const { vitviz } = codeOf(manifest, "predictions", { count: 5 }, changes);
  assert.ok(
    vitviz.includes(
      '{"kind": "transplant", "patches": "cls", "layer": 3, "from": vitviz.analyze(loaded, "my, cat.jpg")},',
    ),
    vitviz,
  );
});

test("the code of a model that has learned in the page loads the file that it is saved in", () => {
  const manifest = (model) =>
    /** @type {any} */ ({
      model: { key: { name: "own-1" }, outputs: "one_of", position_kinds: [], ...model },
      photo: { name: "dog.jpg" },
      pass: { changes: [] },
    });
  const loaded = (model) => codeOf(manifest(model), "predictions", { count: 5 }, []).vitviz;
  assert.match(loaded({ saved_as: "own-cup-pen.safetensors" }), /vitviz\.load\("own-cup-pen\.safetensors"\)/);
  assert.match(loaded({}), /vitviz\.load\("own-1"\)/);
});

const ADDED_KO = /^2번 레이어 뒤에서 CLS에 클래스 tabby 방향의 -1\.5배를 더함$/;

test("a class is called by its name", () => {
  for (const [language, added, moved] of /** @type {[string, RegExp, RegExp]} */ ([
    ["en", /^-1\.5 times the direction of class tabby added to CLS after layer 2$/, /towards class tabby$/],
    ["ko", ADDED_KO, /^클래스 tabby 쪽으로/],
  ])) {
    const manifest = { model: { labels: ["red panda", "tabby"], words: {} }, pass: {} };
    const app = /** @type {any} */ (
      appOf({ t: translator(language), language, taste: {}, comparisons: { besides: () => [] }, manifest })
    );
    const add = { kind: "add", patches: "cls", layer: 2, toward: 1, factor: -1.5 };
    assert.match(changeName(add, app), added);
    assert.match(changeName({ kind: "perturb", target: 1, epsilon: 4, steps: 8, seed: 0 }, app), moved);
  }
});

test("squares are called by row and column, and layers are counted as layers, everywhere", () => {
  for (const [language, names, cut, layers] of /** @type {[string, string, string, RegExp]} */ ([
    ["en", "row 4, col 7 taken out", "row 4, col 7 cannot look at CLS (layer 2)", /\bblock \{/i],
    [
      "ko",
      "4행 7열 뺌",
      "4행 7열 토큰이 CLS 토큰을 볼 수 없음(레이어 2)",
      /블록 \{(?!depth|layers)|\}번째 (블록|레이어)/,
    ],
  ])) {
    const t = translator(language);
    const app = appOf({
      t,
      language,
      taste: {},
      comparisons: { besides: () => [] },
      manifest: { model: { prefix_tokens: ["cls_token"] }, pass: {} },
      grid: { prefix: 1, rows: 12, cols: 12, tokens: 145 },
    });
    const one = { kind: "remove", patches: [4 * 12 + 7] };
    assert.equal(changeName(one, /** @type {any} */ (app)), names);
    const edges = { kind: "cut", edges: [[4 * 12 + 8, 0]], layers: [2], heads: "all" };
    assert.equal(changeName(edges, /** @type {any} */ (app)), cut);
    assert.match(
      changeName({ ...one, patches: [1, 2, 3, 4] }, /** @type {any} */ (app)),
      /4 patches|패치 4개/,
    );
    assert.equal(
      tokenTitle(4 * 12 + 8, /** @type {any} */ (app)).includes(
        language === "en" ? "row 4, col 7" : "4행 7열",
      ),
      true,
    );
    for (const [key, text] of Object.entries(STRINGS[language])) assert.doesNotMatch(text, layers, key);
  }
});

test("a press on the most attended waits for its layer, also while that is loading for others", async (context) => {
  openPage(context);
  const { manifest, buffers } = fixtureOf("cls");
  const asked = [];
  const source = new Source(
    manifest,
    ({ path }) =>
      path.includes("layer-") ? new Promise((done, fail) => asked.push({ path, done, fail })) : buffers[path],
    hostOnly(null),
    () => {},
  );
  const hidden = [];
  const app = /** @type {any} */ (walkerOf(source));
  Object.assign(app, {
    page: {},
    backend: { changes: true },
    comparisons: { besides: () => [] },
    pointer: { shownToken: () => 3 },
    bench: {
      list: () => [],
      use: () => hidden.push("again"),
      hideStrongest: (map) => hidden.push(map.length),
    },
  });
  const { root } = /** @type {any} */ (panel).create(app);
  const button = root
    .querySelectorAll("button")
    .find(({ textContent }) => textContent === "the most attended");
  app.select({ layer: 0 });
  source.store.look(0);
  source.store.want(() => {}); // whoever draws the map
  button.click();
  button.click(); // once more while it waits: one wish
  await settled();
  assert.deepEqual([asked.length, button.getAttribute("aria-busy"), hidden], [1, "true", []]);
  app.select({ layer: 1 }); // the press was about the layer before
  asked[0].done(buffers[asked[0].path]);
  await settled();
  assert.deepEqual([hidden, button.getAttribute("aria-busy")], [[manifest.model.num_tokens], "false"]);
  source.store.look(1);
  button.click();
  asked[1].fail(new Error("no network"));
  await settled();
  asked[2].fail(new Error("no network")); // asked for once more, and then it is said
  await settled();
  assert.deepEqual(
    [hidden.at(-1), source.store.failure.layer, button.getAttribute("aria-busy")],
    ["again", 1, "false"],
  );
});
