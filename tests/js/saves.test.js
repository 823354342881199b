/** Saved tables hold the numbers of Python, and CSV preserves every text. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { attentionRows, meanOfHeads } from "../../vitviz/viewer/maths/attention.js";
import { csvText, fileName } from "../../vitviz/viewer/maths/csv.js";
import { readMixing } from "../../vitviz/viewer/maths/mixing.js";
import { layerFeatures, readSummary } from "../../vitviz/viewer/data/features.js";
import { readStatistics } from "../../vitviz/viewer/data/analysis.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { OVERLAYS } from "../../vitviz/viewer/state/overlays.js";
import { stageSaves } from "../../vitviz/viewer/state/saves.js";
import { captionOf, createSaving } from "../../vitviz/viewer/saving/saving.js";
import { sizeOf } from "../../vitviz/viewer/saving/snapshot.js";
import { translator } from "../../vitviz/viewer/text/words.js";
import { FIXTURES, appOf, assertClose, fixtureOf } from "./fixture.js";
import { openPage } from "./page.js";

const savesOf = (id) => PANELS.find((panel) => panel.id === id).saves;
const [attentionSaves, featuresSaves, modelSaves, patchesSaves, positionsSaves, predictionsSaves, qkSaves] = [
  "attention",
  "features",
  "model",
  "patches",
  "positions",
  "predictions",
  "qk",
].map(savesOf);
const column = (table, name) => table.rows.map((row) => row[table.columns.indexOf(name)]);

for (const { name, expected, manifest, grid, layers, picture, buffers } of FIXTURES) {
  const { layer, token } = expected;
  const maps = {
    of(at, of, direction) {
      const rows = attentionRows(layers[at], of, direction);
      return { rows, mean: meanOfHeads(rows, manifest.model.num_heads) };
    },
  };
  const features = {
    summary: () => readSummary(buffers[manifest.files.features.path], manifest),
    similarity: () => Float32Array.from(expected.feature_similarity),
  };
  const heads = readStatistics(buffers[manifest.files.statistics.path], manifest);
  const statistics = { get: () => heads };
  const mixing = () => ({
    get: () => readMixing(buffers["mixing-" + String(layer).padStart(2, "0") + ".safetensors"], manifest),
  });
  const app = {
    manifest,
    grid,
    picture: { get: () => picture },
    maps,
    features,
    statistics,
    mixing,
    taste: { gallery: "layer" },
    embedding: { exists: true },
    selection: { layer, direction: "to", overlay: "attention" },
  };

  test(name + ": tables of attention, features and the patch", () => {
    const table = attentionSaves(appOf(app), { token }).tables.attention;
    assert.equal(table.rows.length, manifest.model.num_tokens);
    assertClose(column(table, "mean"), expected.mean_to, 1e-5);
    expected.attention_to.forEach((values, head) => assertClose(column(table, "head_" + head), values, 1e-5));
    const [row, col] = expected.place;
    assert.deepEqual(table.rows[token].slice(0, 4), [token, "patch", row, col]);
    if (grid.prefix > 0)
      assert.deepEqual(table.rows[0].slice(1, 4), [manifest.model.prefix_tokens[0], "", ""]);
    const found = featuresSaves(appOf(app), { token }).tables.features;
    assertClose(column(found, "norm"), expected.feature_norms);
    const { scores } = layerFeatures(features.summary(), layer, manifest);
    assertClose(
      ["pc1", "pc2", "pc3"].map((axis) => column(found, axis)[token]),
      [0, 1, 2].map((axis) => scores[3 * (token - grid.prefix) + axis]),
      0,
    );
    assert.deepEqual(
      featuresSaves(appOf({ ...app, features: { ...features, similarity: () => null } }), { token }).tables,
      {},
    );
    assert.ok(found.rows.slice(0, grid.prefix).every((cells) => Number.isNaN(cells.at(-1))));
    assertClose(
      column(patchesSaves(appOf(app), { token }).tables.patches, "normalised"),
      expected.patch_pixel,
    );
    assert.deepEqual(patchesSaves(appOf(app), { token }).figures, ["patch", "patches"]);
    assert.deepEqual(patchesSaves(appOf({ ...app, embedding: { exists: false } }), { token }).figures, [
      "patches",
    ]);
    if (grid.prefix > 0)
      assert.deepEqual(patchesSaves(appOf(app), { token: 0 }), { tables: {}, figures: ["patches"] });
  });

  test(name + ": tables of a whole map and of the figures of heads", () => {
    const matrix = Float32Array.from({ length: grid.tokens ** 2 }, (_, at) => at);
    const matrices = { possible: true, of: (...asked) => (asked.join() === layer + ",1" ? matrix : null) };
    const saved = (gallery, head) =>
      attentionSaves(appOf({ ...app, matrices, taste: { gallery }, selection: { ...app.selection, head } }), {
        token,
      });
    const shown = saved("matrix", 1);
    assert.deepEqual(shown.tables.matrix.rows[2].slice(0, 3), [2, 2 * grid.tokens, 2 * grid.tokens + 1]);
    assert.deepEqual([shown.figures, saved("matrix", 0)], [["matrix"], { tables: {}, figures: ["matrix"] }]);
    matrices.possible = false;
    assert.deepEqual(saved("matrix", 0).figures, []);
    const { tables, figures } = saved("dots", 1);
    assert.deepEqual(figures, ["statistics"]);
    statistics.get = () => null; // they are loading
    assert.deepEqual(saved("dots", 1), { tables: {}, figures: ["statistics"] });
    assert.equal(tables.statistics.rows.length, manifest.model.depth * manifest.model.num_heads);
    assert.deepEqual(tables.statistics.rows.at(-1), [
      manifest.model.depth - 1,
      manifest.model.num_heads - 1,
      heads.entropy.at(-1).at(-1),
      heads.distance.at(-1).at(-1),
    ]);
  });

  test(name + ": the wall has every layer that is here, and no other", () => {
    const wall = (...here) =>
      attentionSaves(
        appOf({
          ...app,
          taste: { gallery: "all" },
          store: { ready: new Map(here.map((at) => [at, layers[at]])) },
        }),
        { token },
      );
    const { tables, figures } = wall(...layers.keys());
    assert.deepEqual(figures, ["wall"]);
    const names = tables.wall.columns.slice(4);
    assert.equal(names.length, manifest.model.depth * (manifest.model.num_heads + 1));
    assertClose(column(tables.wall, "layer_" + layer + "_mean"), expected.mean_to, 1e-5);
    expected.attention_to.forEach((values, head) =>
      assertClose(column(tables.wall, "layer_" + layer + "_head_" + head), values, 1e-5),
    );
    const some = wall(layer).tables.wall.columns.slice(4);
    assert.deepEqual(
      some,
      names.filter((column) => column.startsWith("layer_" + layer + "_")),
    );
    assert.deepEqual(wall(), { tables: {}, figures: ["wall"] });
  });

  test(name + ": a pair saves both vectors and its row; a mean the vectors of every head", () => {
    const saved = (head, store = { get: (at) => layers[at] }) =>
      qkSaves(
        appOf({
          ...app,
          store,
          selection: { ...app.selection, head },
          pointer: { ...app.pointer, pair: () => ({ query: token, key: 1 }) },
        }),
      );
    const { tables, figures } = saved(expected.head);
    assert.deepEqual(figures, ["pair"]);
    assertClose(column(tables.vectors, "product"), expected.pair.products, 1e-5);
    assertClose(column(tables.row, "score"), expected.pair.scores, 1e-4);
    assertClose(column(tables.row, "attention"), expected.pair.attention, 1e-5);
    assertClose(column(tables.mix, "mix"), expected.mix.mixed, 1e-4);
    for (const [part, of] of [
      ["before", "before"],
      ["head", "added"],
      ["all_heads", "change"],
      ["after", "after"],
    ]) {
      assertClose(column(tables.token, part), expected.mix[of], 1e-4);
    }
    const all = saved("mean");
    assert.deepEqual([all.figures, Object.keys(all.tables)], [[], ["vectors"]]);
    assert.deepEqual(all.tables.vectors.columns, ["head", "element", "q", "k", "product"]);
    assert.equal(all.tables.vectors.rows.length, manifest.model.num_heads * manifest.model.head_dim);
    const own = all.tables.vectors.rows.filter(([head]) => head === expected.head).map((row) => row.slice(1));
    assert.deepEqual(own, tables.vectors.rows);
    assert.deepEqual(saved("mean", { get: () => undefined }), { tables: {}, figures: [] });
  });

  test(name + ": predictions save the lens too, positions one and all", () => {
    const { tables, figures } = predictionsSaves(appOf(app));
    if (manifest.pass.predictions.length === 0) assert.deepEqual([tables, figures], [{}, []]);
    else {
      assert.deepEqual(figures, ["predictions", "lens"]);
      assert.equal(tables.lens.rows.length, manifest.model.depth * manifest.pass.lens.length);
      for (const [at, index, label, probability, rank] of tables.lens.rows) {
        const line = manifest.pass.lens.find((one) => one.index === index);
        assert.deepEqual([label, probability, rank], [line.label, line.probabilities[at], line.ranks[at]]);
      }
    }
    const positions = (map) =>
      positionsSaves(appOf({ ...app, positions: { exists: true }, positionMap: () => map }), { token });
    assert.deepEqual(positions(Float32Array.from(expected.similarity)).figures, ["positions", "mosaic"]);
    assert.deepEqual(positions(null), { tables: {}, figures: ["mosaic"] });
  });

  test(name + ": the stage saves what lies over it", () => {
    const values = Float32Array.from(expected.mean_to);
    const saves = stageSaves(appOf(app), { token, shown: { values } });
    assert.deepEqual(saves.figures, ["attention"]);
    assertClose(column(saves.tables.picture, "attention"), expected.mean_to);
    assert.deepEqual(stageSaves(appOf(app), { token, shown: { values: null } }), {
      tables: {},
      figures: ["attention"],
    });
    const places = { ...app, selection: { ...app.selection, overlay: "positions" } };
    assert.deepEqual(stageSaves(appOf(places), { token, shown: { values } }).figures, ["positions"]);
    assert.deepEqual(stageSaves(appOf(places), { token: 0, shown: { values: null } }).figures, []);
  });
}

test("what was measured of a model is saved beside chance, and nothing where nothing was", () => {
  const saved = (measurements) =>
    modelSaves(appOf({ manifest: { model: { num_classes: 10, measurements } } }));
  const { tables, figures } = saved({
    top1: 0.6,
    ece: 0.03,
    boxes: { rollout: { energy: 1.2, pointing: 0.7 } },
  });
  assert.deepEqual(tables.measured.rows, [
    ["top1", 0.6, 0.1],
    ["ece", 0.03, NaN],
  ]);
  assert.deepEqual(tables.boxes.rows, [["rollout", 1.2, 0.7]]);
  assert.deepEqual(figures, ["measured"]);
  assert.deepEqual(saved({}), { tables: {}, figures: [] });
  assert.deepEqual(saved({ nll: 1.5 }).figures, []);
});

test("the changed analysis is saved, and nothing else that stands beside, nor one of an experiment before", (context) => {
  openPage(context);
  const { manifest } = fixtureOf("cls");
  const t = (key) => key;
  const offered = (second) => {
    const app = {
      t,
      language: "en",
      source: { manifest: { ...manifest, photo: { name: "dog.jpg" } } },
      selection: { layer: 0, head: "mean", direction: "from", overlay: "attention" },
      second: { app: { source: { manifest: { save: () => {} } } }, coming: false, ...second },
      backend: { takeHome: null, ask: null },
    };
    const view = { token: 0, shown: { values: null } };
    const panel = { id: "experiment", page: null, saves: () => ({ tables: {}, figures: [] }) };
    const saving = createSaving(/** @type {any} */ (app), () => /** @type {any} */ ({ view, panel }));
    saving.button.click();
    return saving.dialog.querySelectorAll("button").some(({ textContent }) => textContent === "saveAnalysis");
  };
  assert.equal(offered({ key: "experiment" }), true);
  assert.equal(offered({ key: "experiment", coming: true }), false);
  assert.equal(offered({ key: "untrained" }), false);
});

test("an album is saved while the model that looked at its pictures is shown", () => {
  const [runner, other] = [{}, {}];
  const album = { runner, tables: () => ({ distances: { columns: [], rows: [] } }) };
  const saved = (shown) => {
    const app = { album, backend: { model: () => shown }, source: { manifest: { model: {} } } };
    return Object.keys(savesOf("many")(/** @type {any} */ (app)).tables);
  };
  assert.deepEqual([saved(runner), saved(other), saved(undefined)], [["distances"], [], []]);
});

test("a PNG names its colours where there are any, and the choice of a scale for attention only", () => {
  const cls = fixtureOf("cls");
  const app = appOf({
    t: translator("en"),
    language: "en",
    taste: { scale: "heads" },
    grid: cls.grid,
    manifest: {
      ...cls.manifest,
      photo: { name: "a.jpg" },
      model: { ...cls.manifest.model, name: "m", source: "s", key: { image_size: null } },
    },
  });
  const lines = (shown) => captionOf(app, { about: "x", view: { token: 0, shown } });
  const attention = { kind: "attention", values: [1], colours: "magma" };
  assert.deepEqual(lines(attention), [
    "a.jpg · CLS token · x",
    "Colour map magma, scale: all heads",
    "Model: m (s). Drawn by vitviz.",
  ]);
  app.source.manifest.model.key = { image_size: [24, 40] };
  assert.equal(lines(attention)[2], "Model: m at 24 × 40 pixels (s). Drawn by vitviz.");
  assert.equal(lines({ ...attention, kind: "positions", colours: "diverging" })[1], "Colour map diverging");
  assert.equal(lines({ ...attention, kind: "none", values: null }).length, 2);
});

test("every figure of the host is offered somewhere", () => {
  const python = readFileSync(new URL("../../vitviz/web/service/figures.py", import.meta.url), "utf8");
  const drawn = [...python.slice(python.indexOf("FIGURES:")).matchAll(/^ {4}"(\w+)":/gm)].map(
    (match) => match[1],
  );
  const files = PANELS.map(({ id }) => "panels/" + id + ".js");
  const source = files
    .map((name) => readFileSync(new URL("../../vitviz/viewer/" + name, import.meta.url), "utf8"))
    .join("\n");
  const lists = [...source.matchAll(/figures(?:: | = )[^\n]*/g)].map(String).join();
  const offered = new Set([
    ...OVERLAYS.map(({ figure }) => figure),
    ...[...lists.matchAll(/"(\w+)"/g)].map((match) => match[1]),
  ]);
  for (const name of drawn) assert.ok(offered.has(name), name);
});

test("panels with numbers say what they can save", () => {
  const saving = PANELS.filter(({ saves }) => typeof saves === "function").map(({ id }) => id);
  for (const id of [
    "patches",
    "positions",
    "attention",
    "qk",
    "rollout",
    "features",
    "predictions",
    "training",
    "model",
  ]) {
    assert.ok(saving.includes(id), id);
  }
});

test("CSV keeps every text and runs none", () => {
  const rows = [
    [1, "a,b"],
    [0.1, 'say "hi"'],
    [NaN, "=1+1"],
    [1 / 3, "two\nlines"],
    [-1e-9, "강아지"],
  ];
  assert.equal(
    csvText({ columns: ["x", "y"], rows }),
    'x,y\r\n1,"a,b"\r\n0.1,"say ""hi"""\r\n,\'=1+1\r\n0.3333333,"two\nlines"\r\n-1e-9,강아지\r\n',
  );
});

test("names of files follow the rule that holds in Python too", () => {
  const { cases } = JSON.parse(readFileSync(new URL("../file_names.json", import.meta.url), "utf8"));
  assert.ok(cases.length > 15);
  for (const [parts, name] of cases) assert.equal(fileName(...parts), name, JSON.stringify(parts));
  assert.equal(fileName("", "///"), "vitviz");
});

test("a pool saves its heads and their mean; a model without one saves nothing of it", () => {
  const { grid, manifest } = fixtureOf("cls");
  const rows = new Float32Array(2 * grid.tokens).fill(1 / grid.tokens);
  rows.set([0.25, 0.75], 3); // of head 0
  const of = (pooling) =>
    attentionSaves(
      appOf({
        grid,
        manifest,
        pooling,
        maps: { of: () => null },
        taste: { gallery: "layer" },
        selection: {},
      }),
      { token: 1 },
    );
  const { tables, figures } = of({ exists: true, get: () => ({ heads: 2, rows }) });
  assert.deepEqual([Object.keys(tables), figures], [["pooling"], ["heads", "pooling"]]);
  assert.equal(column(tables.pooling, "head_0")[4], 0.75);
  assertClose([column(tables.pooling, "mean")[3]], [(0.25 + 1 / grid.tokens) / 2], 1e-6);
  assert.deepEqual(of({ exists: true, get: () => null }), { tables: {}, figures: ["heads", "pooling"] });
  assert.deepEqual(of({ exists: false }), { tables: {}, figures: ["heads"] });
});

test("a long panel is saved with as many pixels as Safari draws", () => {
  assert.deepEqual(sizeOf({ width: 390, height: 700 }, true), { zoom: 2, width: 780, height: 1400 });
  const long = { width: 1366, height: 12000 };
  assert.deepEqual(sizeOf(long, false), { zoom: 1, ...long });
  for (const box of [
    { width: 389.5, height: 12000.25 },
    { width: 1366, height: 4000 },
    { width: 5000, height: 5000 },
  ]) {
    const { zoom, width, height } = sizeOf(box, true);
    assert.ok(width * height <= 4096 * 4096, `${width} x ${height}`);
    assert.ok(width * height > 0.95 * 16e6, "and not with fewer than it could have");
    assert.ok(Math.abs(width / height - box.width / box.height) < 0.01 && zoom < 2);
  }
});
