/**
 * Two analyses beside each other: the selection is carried over, scales are shared, differences are Python's.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  besideEachOther,
  differenceOf,
  evenScale,
  mostDifferent,
  sameGrid,
} from "../../vitviz/viewer/maths/difference.js";
import { spanOf } from "../../vitviz/viewer/maths/scales.js";
import { createAllHeads } from "../../vitviz/viewer/panels/attention/allheads.js";
import { overlayOf } from "../../vitviz/viewer/state/overlays.js";
import { headScale } from "../../vitviz/viewer/state/sharedscale.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { createSecondSource } from "../../vitviz/viewer/session/secondsource.js";
import { Source } from "../../vitviz/viewer/data/source.js";
import { secondApp } from "../../vitviz/viewer/state/secondapp.js";
import { createPointer } from "../../vitviz/viewer/state/pointer.js";
import { keyAction } from "../../vitviz/viewer/state/keys.js";
import { KEPT, besidesOf } from "../../vitviz/viewer/state/comparable.js";
import { OPERATED } from "../../vitviz/viewer/state/experiment.js";
import { OWN_PHOTO, PhotoStore, askedIn, askedOf } from "../../vitviz/viewer/state/photos.js";
import { readLink, writeLink } from "../../vitviz/viewer/state/link.js";
import { panelOf } from "../../vitviz/viewer/state/panels.js";
import { startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { sideNames, sourceName, translator } from "../../vitviz/viewer/text/words.js";
import { assertClose, fixtureOf, hostOnly, withFacts } from "./fixture.js";
import { openPage } from "./page.js";

const [cls, registers] = ["cls", "registers"].map(fixtureOf);
const BESIDES = ["untrained", "model-b", KEPT];

function sourceOf({ manifest, buffers }, id = "a", fetchFile = async ({ path }) => buffers[path]) {
  return new Source(withFacts(manifest, { pass: { id } }), fetchFile, null, () => {});
}

/** An app with a source, as main.js makes it. */
function appOf(source) {
  const shape = () => ({ ...source.shape, panels: PANELS, besides: BESIDES });
  const app = {
    backend: hostOnly(),
    page: {},
    source,
    shape,
    second: null,
    facing: () => app.second?.app ?? null,
    bench: { marks: () => false, paints: () => false },
    taste: startTaste(PANELS),
    selection: startSelection(shape()),
    panel: () => panelOf(PANELS, app.selection.panel),
    select(wanted) {
      app.selection = validSelection(wanted, app.selection, shape());
    },
  };
  return Object.assign(app, { pointer: createPointer(app, () => {}) });
}

test("all heads are drawn anew beside another analysis, whose maps share the scale", async (t) => {
  openPage(t);
  const [source, before, after] = ["a", "b", "c"].map((id) => sourceOf(cls, id));
  await Promise.all([source, before, after].map((one) => one.loaded(false).then(() => one.store.ensure(1))));
  const app = Object.assign(appOf(source), { t: translator("en") });
  const facing = (/** @type {Source} */ one) => (app.second = { app: secondApp(app, one).app });
  let drawn = 0;
  const { of } = source.maps;
  t.mock.method(source.maps, "of", (...given) => (drawn++, of.apply(source.maps, given)));
  const heads = createAllHeads(/** @type {any} */ (app));
  const drew = () => {
    const had = drawn;
    heads.render(1);
    return drawn > had;
  };
  facing(before);
  assert.ok(drew());
  assert.ok(!drew(), "nothing has changed");
  facing(after); // the next stroke of an experiment: the same layers are ready
  assert.ok(drew());
});

test("all heads are drawn anew when the selected map stands beside one of another number", async (t) => {
  openPage(t);
  const [source, flatter] = [sourceOf(registers), sourceOf(cls, "b")]; // 5 layers, and 3
  await Promise.all([source, flatter].map((one) => one.loaded(false).then(() => one.store.ensure(1))));
  const app = Object.assign(appOf(source), { t: translator("en") });
  const other = secondApp(app, flatter).app;
  app.second = { app: other };
  const heads = createAllHeads(/** @type {any} */ (app));
  const map = t.mock.method(source.maps, "of");
  const drew = () => {
    const had = map.mock.callCount();
    heads.render(1);
    return map.mock.callCount() > had;
  };
  app.select({ layer: 3 });
  drew();
  app.select({ layer: 4 });
  assert.notEqual(other.selection.layer, 4);
  assert.ok(drew());
  assert.ok(!drew(), "nothing has changed");
});

test("what is selected in one is selected in the other, at its place", () => {
  const app = appOf(sourceOf(cls)); // 4 x 4 patches, 1 prefix token, 3 layers, 2 heads
  const other = secondApp(app, sourceOf(registers)).app; // 4 x 6, 5 prefix tokens, 5 layers, 2 heads
  app.select({ token: 1 + 4 * 1 + 2, layer: 2, head: 1, pinned: true });
  assert.deepEqual([other.pointer.shownToken(), other.selection.token], [5 + 6 * 1 + 3, 5 + 6 * 1 + 3]);
  assert.deepEqual([other.selection.layer, other.selection.head, other.selection.pinned], [2, 1, true]);
  assert.equal(other.selection, other.selection, "made once for a selection");
  app.select({ token: 0 });
  assert.equal(other.pointer.shownToken(), 0, "a prefix token keeps its number");
  other.pointer.pin(5 + 6 * 3 + 5);
  assert.deepEqual([app.selection.token, app.selection.pinned], [1 + 4 * 3 + 3, true]);
  other.pointer.point(5, false);
  assert.deepEqual([app.pointer.pointed, other.pointer.pointed], [1, 5]);
  other.pointer.point(null, false);
  assert.deepEqual([app.pointer.pointed, other.pointer.pointed], [null, null]);
  other.select({ layer: 4 });
  assert.equal(app.selection.layer, 2, "the first has no such layer");
  other.select({ layer: 4, head: 0 });
  assert.deepEqual([app.selection.layer, app.selection.head], [2, 1], "nor its heads");
  const back = secondApp(appOf(sourceOf(registers)), sourceOf(cls)).app;
  assert.equal(back.selection.layer, 2, "of more layers than there are the last one");
  app.pointer.pointPair({ query: 0, key: 16 });
  assert.deepEqual(other.pointer.pair(), { query: 0, key: 5 + 23 });
  assert.equal(other.facing(), app);
});

test("two maps lie on one scale, in multiples of uniform attention", async () => {
  const [one, two] = [sourceOf(cls), sourceOf(registers)];
  await Promise.all([one.loaded(false), two.loaded(false), one.store.ensure(1), two.store.ensure(1)]);
  const app = appOf(one);
  app.select({ layer: 1, head: 0, token: 6 });
  const other = secondApp(app, two).app;
  const alone = overlayOf(app, 6);
  app.second = { app: other };
  const [here, there] = [
    overlayOf(app, app.pointer.shownToken()),
    overlayOf(other, other.pointer.shownToken()),
  ];
  assert.deepEqual(here.values, alone.values);
  assertClose([here.scale.max * one.grid.tokens], [there.scale.max * two.grid.tokens], 1e-6);
  const largest = (source, token) =>
    Math.max(...[...source.maps.head(1, token, "from", 0)].slice(source.grid.prefix)) * source.grid.tokens;
  assertClose(
    [here.scale.max * one.grid.tokens],
    [Math.max(largest(one, 6), largest(two, other.pointer.shownToken()))],
    1e-5,
  );
  assertClose([headScale(app, 1, 0).max], [here.scale.max], 1e-9);
  const changed = [largest(one, 6), largest(two, other.pointer.shownToken())].filter(
    (max) => max < 0.999 * here.scale.max * one.grid.tokens,
  );
  assert.equal(changed.length, 1, "one of them alone would end earlier");
});

test("a layer that is selected faces the one that is selected there", async () => {
  const [one, two] = [sourceOf(registers), sourceOf(cls)];
  await Promise.all([
    one.loaded(false),
    two.loaded(false),
    one.store.ensure(4),
    one.store.ensure(3),
    two.store.ensure(2),
  ]);
  const app = appOf(one);
  app.select({ layer: 4, direction: "from" });
  const alone = headScale(app, 3, "mean");
  app.second = { app: secondApp(app, two).app };
  const [here, there] = [headScale(app, 4, "mean"), headScale(app.facing(), 2, "mean")];
  assertClose([here.max * one.grid.tokens], [there.max * two.grid.tokens], 1e-6);
  assert.deepEqual(headScale(app, 3, "mean"), alone, "there is no layer 3");
});

test("a difference is as long above 0 as below, and the largest is found", () => {
  const grid = { rows: 1, cols: 3, prefix: 1, tokens: 4 };
  const values = differenceOf([9, 0.25, 0.5, 0.25], [0, 0.5, 0.25, 0.25]);
  assert.deepEqual([...values], [9, -0.25, 0.25, 0]);
  assert.deepEqual(evenScale(values, grid), { min: -0.25, max: 0.25 });
  assert.equal(mostDifferent(values), 0);
  assert.equal(mostDifferent(Float32Array.of(NaN, NaN, 0.1, -0.3)), 3, "a prefix token has no position");
  assert.equal(mostDifferent(Float32Array.of(0.1, -0.3, 0.3)), 1, "the first of equal ones");
  assert.ok(evenScale(differenceOf([1, 1, 1, 1], [1, 1, 1, 1]), grid).max > 0, "a scale has two ends");
  assert.ok(sameGrid(grid, { ...grid }));
  for (const field of ["rows", "cols", "prefix"]) assert.ok(!sameGrid(grid, { ...grid, [field]: 2 }), field);
  assert.deepEqual(spanOf({ min: 0, max: 1 }, null), { min: 0, max: 1 });
});

test("classes face each other by their names", () => {
  const answer = (...pairs) =>
    pairs.map(([label, probability]) => ({ label, probability, index: 0, logit: 0 }));
  const found = besideEachOther(
    answer(["a", 0.6], ["b", 0.3], ["c", 0.1]),
    answer(["c", 0.5], ["x", 0.4], ["c", 0.1]),
    2,
  );
  assert.deepEqual(found, [
    { label: "a", first: 0.6, second: null },
    { label: "b", first: 0.3, second: null },
    { label: "c", first: 0.1, second: 0.5 },
    { label: "x", first: null, second: 0.4 },
  ]);
});

test("what stands beside is in the link, unless only this page has it", () => {
  const shape = { ...sourceOf(cls).shape, panels: PANELS, besides: BESIDES };
  const start = startSelection(shape);
  const link = (beside) => writeLink("http://x/", { ...start, beside }, startTaste(PANELS), {}, shape);
  assert.equal(new URL(link("model-b")).searchParams.get("beside"), "model-b");
  assert.equal(validSelection(readLink(link("model-b"), PANELS), start, shape).beside, "model-b");
  for (const beside of ["", KEPT]) assert.equal(new URL(link(beside)).searchParams.has("beside"), false);
  assert.equal(validSelection({ beside: "nothing" }, start, shape).beside, "");
  const press = (code, selection) =>
    keyAction(
      { key: "b", code, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false },
      selection,
      shape,
      false,
    );
  assert.deepEqual(press("KeyB", start), { select: { beside: "untrained" } });
  assert.deepEqual(press("KeyB", { ...start, beside: "model-b" }), { select: { beside: "" } });
  const offered = { beside: [{ key: "untrained", kind: "untrained" }] };
  const kept = { photo: { name: "a.jpg" }, model: { title: "m", words: {} } };
  assert.deepEqual(besidesOf(offered, null, false), []);
  assert.deepEqual(
    besidesOf(offered, kept, true).map(({ key }) => key),
    ["untrained", KEPT],
  );
});

test("photos that the visitor sent stand among the others, in this page alone", () => {
  let number = 0;
  const photos = new PhotoStore(() => (number += 0.01));
  const sent = (address, name) => {
    const photo = photos.create({ address, name });
    photos.keep(photo);
    return photo.id;
  };
  const [cat, dog] = ["cat", "dog"].map((name) => sent("/x/" + name, name + ".jpg"));
  assert.match(cat, OWN_PHOTO);
  const offered = {
    beside: [{ key: "untrained", kind: "untrained" }],
    upload: { address: "/x/dog", name: "dog.jpg" },
  };
  assert.deepEqual(besidesOf(offered, null, true, false, photos.all).at(-1), {
    key: cat,
    kind: "photo",
    name: "cat.jpg",
  });
  assert.equal(
    besidesOf(offered, null, true, false, photos.all).length,
    2,
    "what is shown is not beside itself",
  );
  assert.deepEqual(besidesOf(offered, null, false, false, photos.all), []);
  assert.deepEqual(askedOf(photos, cat), { path: "/x/cat", name: "cat.jpg" });
  assert.equal(askedOf(photos, "example-cat"), "example-cat");
  const changes = [
    { kind: "remove", patches: [1] },
    { kind: "transplant", patches: "cls", layer: 1, from: dog },
  ];
  assert.deepEqual(askedIn(photos, changes), [
    changes[0],
    { ...changes[1], from: { path: "/x/dog", name: "dog.jpg" } },
  ]);
  for (let at = 0; at < 9; at++) sent("/x/" + at, "drawing-" + at + ".png");
  assert.equal(photos.all.length, 3, "of drawings only the last");
  for (let at = 0; at < 9; at++) sent("/y/" + at, at + ".png");
  assert.equal(photos.all.length, 6, "and in all only the newest");
  assert.equal(askedOf(photos, cat), cat);
  const shape = { ...sourceOf(cls).shape, panels: PANELS, besides: [cat, OPERATED] };
  const start = startSelection(shape);
  const link = (wanted) =>
    writeLink("http://x/", validSelection(wanted, start, shape), startTaste(PANELS), {}, shape);
  assert.doesNotMatch(link({ beside: cat }), /beside/);
  assert.doesNotMatch(link({ beside: OPERATED, experiment: "transplant_cls_1_" + dog }), /beside|experiment/);
  assert.match(link({ beside: OPERATED, experiment: "transplant_cls_1_example-dog" }), /experiment/);
});

test("the two are called by what differs", () => {
  const side = (photo, title, trained, size = null) => ({
    t: translator("en"),
    language: "en",
    source: {
      manifest: {
        photo: { name: photo },
        model: { title, trained, key: { image_size: size } },
        pass: { changes: [] },
      },
    },
  });
  assert.deepEqual(sideNames(side("a", "m", true), side("a", "m", false)), ["trained", "untrained"]);
  assert.deepEqual(sideNames(side("a", "m", true), side("b", "m", true)), ["a", "b"]);
  assert.deepEqual(sideNames(side("a", "m", true), side("b", "n", true)), ["a · m", "b · n"]);
  assert.deepEqual(sideNames(side("a", "m", true), side("a", "m", true)), ["a · m", "a · m"]);
  assert.deepEqual(sideNames(side("a", "m", true, [96, 144]), side("a", "m", true)), [
    "m at 96 × 144 pixels",
    "m",
  ]);
  assert.equal(sourceName(side("a", "m", false, [96, 144])), "a · m at 96 × 144 pixels · untrained");
});

/** A second source beside an app, with a host that replies when the test says so. */
function stand() {
  const app = appOf(sourceOf(cls));
  const asked = [];
  const opened = [];
  const host = (key, signal) =>
    new Promise((resolve, reject) => {
      asked.push({ key, signal, resolve, reject });
    });
  const fetchFile = async ({ path }, signal) => {
    opened.push(signal);
    return registers.buffers[path];
  };
  let drawn = null;
  const render = () => {
    app.second = second.follow();
    drawn?.();
  };
  const second = createSecondSource(app, host, fetchFile, render);
  const next = () =>
    new Promise((resolve) => {
      drawn = () => resolve(null);
    });
  return { app, asked, opened, second, render, next };
}

test("the second source comes when it is asked for, and goes when it is not", async () => {
  const { app, asked, opened, render, next } = stand();
  render();
  assert.deepEqual([asked.length, app.second.key, app.facing()], [0, "", null]);
  app.select({ beside: "untrained" });
  render();
  render();
  assert.deepEqual([asked.length, app.second.key, app.second.app], [1, "untrained", null]);
  asked[0].resolve(withFacts(registers.manifest, { pass: { id: "b" } }));
  while (!app.facing()) await next(); // its picture is drawn as it comes, too
  const { source } = app.facing();
  assert.equal(source.manifest.pass.id, "b");
  app.select({ beside: "" });
  render();
  assert.deepEqual([app.facing(), source.disposed, opened[0].aborted], [null, true, true]);
});

test("what was closed is cancelled: its question, its files, and those that would follow", async () => {
  const { app, asked, opened, second, render, next } = stand();
  app.select({ beside: "untrained" });
  render();
  app.select({ beside: "" });
  render();
  assert.equal(asked[0].signal.aborted, true);
  asked[0].resolve(withFacts(registers.manifest, { pass: { id: "b" } }));
  app.select({ beside: "model-b" });
  render();
  assert.deepEqual(
    asked.map(({ signal }) => signal.aborted),
    [true, false],
  );
  asked[1].resolve({ ...registers.manifest, id: "c" });
  while (!app.facing()) await next();
  render(); // asks for its layers, one after another
  const underWay = [...app.facing().source.store.pending.values()];
  assert.equal(underWay.length, 1);
  const before = opened.length;
  second.close();
  await Promise.allSettled(underWay);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual([opened.length, opened.every((signal) => signal.aborted)], [before, true]);
});

test("an answer that nobody waits for any more opens nothing, and a refusal can be tried again", async () => {
  const { app, asked, opened, render, next } = stand();
  app.select({ beside: "untrained" });
  render();
  app.select({ beside: "model-b" });
  render();
  asked[0].resolve(withFacts(registers.manifest, { pass: { id: "late" } }));
  const refused = next();
  asked[1].reject(new Error("busy"));
  await refused;
  assert.deepEqual(
    [app.second.error.message, app.second.key, app.facing(), opened.length],
    ["busy", "model-b", null, 0],
  );
  render();
  assert.equal(asked.length, 2, "a failure is kept");
  app.second.retry();
  assert.equal(asked.length, 3);
  const here = next();
  asked[2].resolve(withFacts(registers.manifest, { pass: { id: "b" } }));
  await here;
  assert.equal(app.second.error, null);
  app.source = sourceOf(cls, "another");
  render();
  assert.deepEqual([asked.length, app.facing()], [4, null], "beside another analysis stands another");
});

test("each side is named in the words of its own model", () => {
  const side = (title, korean) => ({
    t: translator("ko"),
    language: "ko",
    source: {
      manifest: {
        photo: { name: "a.png" },
        model: {
          title,
          trained: true,
          key: { image_size: null },
          words: { ko: { texts: { [title]: korean } } },
        },
        pass: { changes: [] },
      },
    },
  });
  const [photos, digits] = [side("Photos", "사진"), side("Digits", "숫자")];
  assert.deepEqual(sideNames(photos, digits), ["사진", "숫자"]);
  assert.deepEqual(sideNames(digits, photos), ["숫자", "사진"]);
});
