/** The bench: strokes become interventions, and every change can be taken back. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { patchesBetween } from "../../vitviz/viewer/maths/geometry.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { captionOf } from "../../vitviz/viewer/saving/saving.js";
import { cellsOf, createBench, edgesOf } from "../../vitviz/viewer/state/bench.js";
import { OPERATED, read } from "../../vitviz/viewer/state/experiment.js";
import { panelOf } from "../../vitviz/viewer/state/panels.js";
import { startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, OPERATED as PASSES, appOf, fixtureOf } from "./fixture.js";

function benchOf(name = "cls", tool = "remove") {
  const { manifest, grid } = fixtureOf(name);
  const shape = {
    depth: manifest.model.depth,
    heads: manifest.model.num_heads,
    grid,
    panels: PANELS,
    besides: [OPERATED],
  };
  /** @type {any} */
  const app = {
    source: { grid, manifest, shape },
    selection: startSelection(shape),
    backend: { changes: true },
    course: { takes: () => false },
    sketching: { stir: () => false },
    panel: () => panelOf(PANELS, app.selection.panel),
    select(wanted) {
      app.selection = validSelection(wanted, app.selection, app.source.shape);
      app.bench.follow();
    },
  };
  app.bench = createBench(app, () => {});
  app.bench.use({ tool });
  return { app, bench: app.bench, list: () => read(app.selection.experiment) };
}

test("a brush paints only while its panel is open, it is on, and a host can run the model", () => {
  const { app, bench } = benchOf();
  assert.equal(bench.paints(), false);
  app.select({ panel: "experiment" });
  assert.equal(bench.paints(), true);
  bench.use({ on: false });
  assert.equal(bench.paints(), false);
  bench.use({ on: true });
  app.course.takes = () => true;
  assert.equal(bench.paints(), false, "a lesson that asks for patches takes them");
  app.course.takes = () => false;
  app.backend.changes = false;
  assert.equal(bench.paints(), false);
});

test("a stroke does what its tool does, and one that touches nothing says so", () => {
  const { app, bench, list } = benchOf();
  bench.stroke([5, 4]);
  assert.deepEqual(list(), [{ kind: "remove", patches: [4, 5] }]);
  assert.equal(app.selection.beside, OPERATED);
  bench.stroke([4, 5]);
  assert.equal(bench.said, "experimentEmpty");
  bench.stroke([]);
  assert.equal(bench.said, "experimentEmpty");
  bench.use({ tool: "noise" });
  assert.equal(bench.said, "");
  bench.stroke([1]);
  assert.deepEqual(list()[1], { kind: "replace", patches: [1], by: "noise", seed: 0 });
  bench.use({ tool: "back" });
  bench.stroke([5, 1]);
  assert.deepEqual(list(), [{ kind: "remove", patches: [4] }]);
  bench.stroke([9]);
  assert.equal(bench.said, "experimentNothingBack");
  bench.clear();
  assert.deepEqual([list(), app.selection.beside], [[], ""]);
});

test("two patches are swapped by one stroke, or by two taps", () => {
  const { bench, list } = benchOf("cls", "swap");
  bench.stroke([3, 7, 11]);
  assert.deepEqual(list(), [{ kind: "swap", patches: [3, 11] }]);
  bench.stroke([2]);
  assert.equal(bench.first, 2);
  bench.stroke([2]);
  assert.equal(bench.first, null, "the same patch again lets it go");
  bench.stroke([2]);
  bench.stroke([1]);
  assert.deepEqual(list()[1], { kind: "swap", patches: [2, 1] });
});

test("the most attended are hidden in the way of the brush, without those that are gone", () => {
  const { app, bench, list } = benchOf("registers", "black"); // 5 prefix tokens
  const { prefix, tokens } = app.source.grid;
  const values = Float32Array.from({ length: tokens }, (_, token) => (token < prefix ? 9 : token));
  bench.hideStrongest(values, 3);
  const last = tokens - prefix - 1;
  assert.deepEqual(list(), [{ kind: "replace", patches: [last - 2, last - 1, last], by: "black", seed: 0 }]);
  bench.use({ tool: "keep" });
  bench.hideStrongest(values, 1);
  assert.deepEqual(list()[1], { kind: "remove", patches: [last] });
  bench.hideStrongest(values, 1);
  assert.deepEqual(list()[1], { kind: "remove", patches: [last - 1, last] });
  bench.hideRandom(4, 1);
  assert.equal(list()[1].patches.length, 6);
});

test("steps are undone and done again, and a change from elsewhere is a step too", () => {
  const { app, bench, list } = benchOf();
  bench.undo();
  assert.deepEqual([bench.canUndo(), bench.canRedo()], [false, false]);
  bench.stroke([1]);
  bench.stroke([2]);
  app.select({ experiment: "even_cls_all" });
  bench.undo();
  assert.deepEqual(list(), [{ kind: "remove", patches: [1, 2] }]);
  bench.undo();
  bench.undo();
  assert.deepEqual([list(), bench.canUndo()], [[], false]);
  for (let step = 0; step < 5; step++) bench.redo();
  assert.deepEqual(list(), [{ kind: "even", rows: "cls", layers: "all" }]);
  bench.undo();
  bench.drop(0);
  assert.deepEqual([list(), bench.canRedo()], [[], false]);
});

test("undo in another model passes over the steps that it cannot have", () => {
  const { app, bench, list } = benchOf("registers"); // 4 x 6 patches
  const { shape } = app.source;
  const { manifest, grid } = fixtureOf("cls"); // 4 x 4 patches
  const small = { ...shape, depth: manifest.model.depth, heads: manifest.model.num_heads, grid };
  const show = (next, experiment) => {
    app.source = { ...app.source, grid: next.grid, shape: next };
    app.selection = startSelection(next);
    app.select({ experiment, beside: OPERATED });
  };
  bench.stroke([2]);
  bench.stroke([20]);
  bench.stroke([21]);
  show(small, "remove_3");
  assert.equal(bench.canUndo(), true);
  bench.undo();
  assert.deepEqual(list(), [{ kind: "remove", patches: [2] }]);
  bench.undo();
  assert.deepEqual([list(), bench.canUndo()], [[], false]);
  bench.redo();
  bench.redo();
  assert.deepEqual([list(), bench.canRedo()], [[{ kind: "remove", patches: [3] }], false]);
  bench.change([{ kind: "remove", patches: [1] }]);
  show({ ...small, grid: { ...grid, rows: 1, cols: 1, tokens: 2 } }, "remove_0");
  bench.undo();
  assert.deepEqual([list(), bench.canUndo()], [[], false], "what nobody can undo is not offered");
});

test("a stroke touches every patch on its way, once, inside of the picture", () => {
  const grid = { rows: 4, cols: 6 };
  assert.deepEqual(patchesBetween({ row: 0.5, col: 0.5 }, { row: 0.5, col: 3.2 }, 1, grid), [0, 1, 2, 3]);
  assert.deepEqual(patchesBetween({ row: 1.5, col: 1.5 }, { row: 1.6, col: 1.4 }, 3, grid).length, 9);
  assert.deepEqual(patchesBetween({ row: 0.1, col: 0.1 }, { row: 0.1, col: 0.1 }, 3, grid), [0, 1, 6, 7]);
  assert.deepEqual(patchesBetween({ row: -3, col: -3 }, { row: -1, col: -1 }, 1, grid), []);
  assert.equal(patchesBetween({ row: 0, col: 0 }, { row: 3.9, col: 5.9 }, 5, grid).length, 24);
});

test("cells divide the grid into several, and a model without prefix tokens has no edges to them", () => {
  assert.deepEqual(cellsOf({ rows: 12, cols: 12 }), [1, 2, 3, 4, 6]);
  assert.deepEqual(cellsOf({ rows: 3, cols: 5 }), [1]);
  assert.deepEqual(cellsOf({ rows: 4, cols: 8 }), [1, 2, 4]);
  assert.deepEqual(edgesOf({ prefix: 0 }), ["patches to others"]);
  assert.equal(edgesOf({ prefix: 1 }).length, 3);
});

test("a caption says what was changed, here and beside", () => {
  const [pass, intact] = [PASSES, FIXTURES].map((all) => all.find(({ name }) => name === "cls"));
  const view = { token: 3, shown: { values: null } };
  for (const [language, own, beside] of [
    [
      "en",
      "changed: row 0, col 0; row 1, col 1 taken out",
      "Beside it, changed: row 0, col 0; row 1, col 1 taken out",
    ],
    ["ko", "바꾼 것: 0행 0열; 1행 1열 뺌", "나란히 놓은 쪽에서 바꾼 것: 0행 0열; 1행 1열 뺌"],
  ]) {
    const app = (one, facing = null) =>
      appOf({ ...one, t: translator(language), language, taste: startTaste(PANELS), facing: () => facing });
    const changed = captionOf(/** @type {any} */ (app(pass)), /** @type {any} */ ({ view, about: "" }));
    assert.ok(
      changed.some((line) => line.startsWith(own)),
      changed.join("\n"),
    );
    const both = captionOf(
      /** @type {any} */ (app(intact, app(pass))),
      /** @type {any} */ ({ view, about: "" }),
    );
    assert.ok(
      both.some((line) => line.startsWith(beside)),
      both.join("\n"),
    );
    const plain = captionOf(/** @type {any} */ (app(intact)), /** @type {any} */ ({ view, about: "" }));
    assert.equal(plain.length, changed.length - 1);
  }
});
