/** The browser computes the same numbers as Python, for every small model. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { positionMaps, readPositions, readStatistics } from "../../vitviz/viewer/data/analysis.js";
import { attentionOf, attentionRows, meanOfHeads } from "../../vitviz/viewer/maths/attention.js";
import { boxOf, placeOf } from "../../vitviz/viewer/maths/geometry.js";
import { similarities } from "../../vitviz/viewer/data/maps.js";
import { patchValues } from "../../vitviz/viewer/maths/patch.js";
import { fuseRows, rolloutRow, rowSums } from "../../vitviz/viewer/maths/rollout.js";
import { parseSafetensors } from "../../vitviz/viewer/maths/safetensors.js";
import { FIXTURES, assertClose } from "./fixture.js";

test("there are fixtures with 0, 1, 2 and 5 prefix tokens, one channel, grids that are not square", () => {
  const prefixes = FIXTURES.map(({ grid }) => grid.prefix).sort();
  assert.deepEqual([...new Set(prefixes)], [0, 1, 2, 5]);
  assert.ok(FIXTURES.some(({ manifest }) => manifest.model.image.channels === 1));
  assert.ok(FIXTURES.some(({ grid }) => grid.rows !== grid.cols));
  assert.ok(FIXTURES.some(({ grid }) => grid.patchHeight !== grid.patchWidth));
  assert.ok(FIXTURES.every(({ manifest }) => manifest.model.num_heads !== manifest.model.depth));
});

for (const { name, expected, manifest, grid, layers, picture, buffers } of FIXTURES) {
  const { layer, token } = expected;
  const { num_heads: heads, num_tokens: tokens } = manifest.model;
  const statistics = readStatistics(buffers[manifest.files.statistics.path], manifest);

  test(name + ": attention from a token", () => {
    const rows = attentionRows(layers[layer], token, "from");
    assertClose(rows, expected.attention_from.flat(), 1e-5);
    assertClose(rows, expected.exact_from.flat(), statistics.error + 1e-6);
  });

  test(name + ": attention to a token is the column, and not the row", () => {
    const columns = attentionRows(layers[layer], token, "to");
    assertClose(columns, expected.attention_to.flat(), 1e-5);
    assertClose(meanOfHeads(columns, heads), expected.mean_to, 1e-5);
    assert.throws(() => assertClose(columns, expected.attention_from.flat(), 1e-3));
  });

  test(name + ": rows sum to 1", () => {
    const row = new Float32Array(tokens);
    for (const decoded of layers) {
      for (let head = 0; head < heads; head++) {
        for (let query = 0; query < tokens; query++) {
          attentionOf(decoded, head, query, "from", row);
          assertClose([row.reduce((sum, value) => sum + value)], [1], 1e-5);
        }
      }
    }
  });

  for (const fusion of ["mean", "max", "min"]) {
    test(name + ": rollout with " + fusion, () => {
      const { first, residual } = expected.rollout_options;
      const fused = layers.slice(first, layer + 1).map((decoded) => {
        const matrix = new Float32Array(tokens * tokens);
        fuseRows(decoded, 0, 3, { [fusion]: matrix });
        fuseRows(decoded, 3, tokens, { [fusion]: matrix });
        return { matrix, sums: rowSums(matrix, tokens) };
      });
      const row = rolloutRow(fused, token, residual);
      assertClose(row, expected.rollout[fusion], 1e-5);
      assertClose([row.reduce((sum, value) => sum + value)], [1], 1e-5);
    });
  }

  test(name + ": similarity of positions", () => {
    const map = similarities(picture.positions, token - grid.prefix, grid.rows * grid.cols);
    assertClose(map, expected.similarity, 1e-3);
    assertClose([map[token - grid.prefix]], [1], 1e-3);
    const mapOf = positionMaps(picture.positions, grid);
    assertClose(mapOf(token), expected.similarity, 1e-3);
    assert.equal(mapOf(token), mapOf(token), "hovering computes it once");
    assert.notDeepEqual(mapOf(token - 1), mapOf(token));
    assert.equal(mapOf(grid.prefix - 1), null);
    assert.equal(positionMaps(null, grid)(token), null);
  });

  test(name + ": positions that training began with", () => {
    const file = manifest.files.untrained;
    assert.equal(file === undefined, expected.untrained_similarity === null);
    if (!file) return;
    const map = similarities(
      readPositions(parseSafetensors(buffers[file.path]), grid),
      token - grid.prefix,
      grid.rows * grid.cols,
    );
    assertClose(map, expected.untrained_similarity, 1e-3);
  });

  test(name + ": place and box of a token", () => {
    assert.deepEqual(Object.values(placeOf(token, grid)), expected.place);
    const { top, left, height, width } = boxOf(token, grid);
    assert.deepEqual([top, left, height, width], expected.box);
  });

  test(name + ": numbers of a patch in both orders", () => {
    for (const order of ["pixel", "channel"]) {
      const { normalised } = patchValues(picture, token, manifest, grid, order);
      assertClose(normalised, expected["patch_" + order]);
    }
  });
}
