/** What is saved: tables hold the numbers of Python, and CSV brings every text through. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { attentionRows, meanOfHeads } from "../../vitviz/viewer/attention.js";
import { csvText, fileName } from "../../vitviz/viewer/csv.js";
import { readSummary } from "../../vitviz/viewer/features.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { attentionSaves, featuresSaves, patchesSaves, stageSaves } from "../../vitviz/viewer/saves.js";
import { FIXTURES, assertClose } from "./fixture.js";

const column = (table, name) => table.rows.map((row) => row[table.columns.indexOf(name)]);

for (const { name, expected, manifest, grid, layers, picture, buffers } of FIXTURES) {
  const { layer, token } = expected;
  const maps = {
    of(at, of, direction) {
      const rows = attentionRows(layers[at], of, direction);
      return { rows, mean: meanOfHeads(rows, manifest.num_heads) };
    },
  };
  const features = {
    summary: () => readSummary(buffers[manifest.files.features.path], manifest),
    similarity: () => Float32Array.from(expected.feature_similarity),
  };
  const app = { manifest, grid, picture, maps, features, taste: { gallery: "layer" },
    selection: { layer, direction: "to", overlay: "attention" } };

  test(name + ": tables of attention, features and the patch", () => {
    const { table } = attentionSaves(app, { token });
    assert.equal(table.rows.length, manifest.num_tokens);
    assertClose(column(table, "mean"), expected.mean_to, 1e-5);
    expected.attention_to.forEach((values, head) =>
      assertClose(column(table, "head_" + head), values, 1e-5));
    const [row, col] = expected.place;
    assert.deepEqual(table.rows[token].slice(0, 4), [token, "patch", row, col]);
    if (grid.prefix > 0) assert.deepEqual(table.rows[0].slice(1, 4), [manifest.prefix_tokens[0], "", ""]);
    const found = featuresSaves(app, { token }).table;
    assertClose(column(found, "norm"), expected.feature_norms);
    assert.ok(found.rows.slice(0, grid.prefix).every((cells) => Number.isNaN(cells.at(-1))));
    assertClose(column(patchesSaves(app, { token }).table, "normalised"), expected.patch_pixel);
  });

  test(name + ": tables of a whole map and of the figures of heads", () => {
    const matrix = Float32Array.from({ length: grid.tokens ** 2 }, (_, at) => at);
    const matrices = { of: (...asked) => (asked.join() === layer + ",1" ? matrix : null) };
    const saved = (gallery, head) => attentionSaves({ ...app, matrices, taste: { gallery },
      selection: { ...app.selection, head } }, { token }).table;
    assert.deepEqual(saved("matrix", 1).rows[2].slice(0, 3), [2, 2 * grid.tokens, 2 * grid.tokens + 1]);
    assert.equal(saved("matrix", 0), null);
    const table = saved("dots", 1);
    assert.equal(table.rows.length, manifest.depth * manifest.num_heads);
    assert.deepEqual(table.rows.at(-1), [manifest.depth - 1, manifest.num_heads - 1,
      manifest.heads.entropy.at(-1).at(-1), manifest.heads.distance.at(-1).at(-1)]);
  });

  test(name + ": the stage saves what lies over it", () => {
    const values = Float32Array.from(expected.mean_to);
    const saves = stageSaves(app, { token, shown: { values } });
    assert.equal(saves.figure, "attention");
    assertClose(column(saves.table, "attention"), expected.mean_to);
    assert.equal(stageSaves(app, { token, shown: { values: null } }).table, null);
  });
}

test("panels with numbers say what they can save", () => {
  const saving = PANELS.filter(({ saves }) => typeof saves === "function").map(({ id }) => id);
  for (const id of ["patches", "positions", "attention", "qk", "rollout", "features", "predictions"]) {
    assert.ok(saving.includes(id), id);
  }
});

test("CSV keeps every text and runs none", () => {
  const rows = [[1, "a,b"], [0.1, 'say "hi"'], [NaN, "=1+1"], [1 / 3, "two\nlines"], [-1e-9, "강아지"]];
  assert.equal(csvText({ columns: ["x", "y"], rows }),
    'x,y\r\n1,"a,b"\r\n0.1,"say ""hi"""\r\n,\'=1+1\r\n0.3333333,"two\nlines"\r\n-1e-9,강아지\r\n');
});

test("names of files are safe and say what is in them", () => {
  assert.equal(fileName("my <dog>.jpg", "vit/b", "layer3"), "my-dog-vit-b-layer3");
  assert.equal(fileName("강아지.png", "../.."), "강아지");
  assert.equal(fileName("", "///"), "vitviz");
});
