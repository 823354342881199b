/** Operated passes: every map that the browser makes is Python's, where edges are cut too. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Source } from "../../vitviz/viewer/data/source.js";
import { attentionRows } from "../../vitviz/viewer/maths/attention.js";
import { pairOf } from "../../vitviz/viewer/maths/pair.js";
import { FIXTURES, OPERATED, assertClose } from "./fixture.js";

const TOLERANCE = 1e-5;

/** Row or column of one head in a map (H, N, N). */
function line(map, head, token, direction, tokens) {
  const at = (other) => (direction === "from" ? [token, other] : [other, token]);
  return Array.from({ length: tokens }, (_, other) => {
    const [query, key] = at(other);
    return map[(head * tokens + query) * tokens + key];
  });
}

for (const { name, expected, manifest, grid, layers, picture, buffers } of OPERATED) {
  const { tokens } = grid;

  test(name + ": rows and columns of every head and layer are Python's", () => {
    layers.forEach((layer, at) => {
      for (const direction of /** @type {("from"|"to")[]} */ (["from", "to"])) {
        for (let token = 0; token < tokens; token++) {
          const rows = attentionRows(layer, token, direction);
          for (let head = 0; head < manifest.model.num_heads; head++) {
            assertClose(
              rows.subarray(head * tokens, (head + 1) * tokens),
              line(expected.maps[at], head, token, direction, tokens),
              TOLERANCE,
            );
          }
        }
      }
    });
  });

  test(name + ": the rows that come ahead, whole maps, the rollout and a pair are Python's", async () => {
    const { layer, token } = manifest.pass.first;
    for (let head = 0; head < manifest.model.num_heads; head++) {
      assertClose(
        picture.rows.subarray(head * tokens, (head + 1) * tokens),
        line(expected.maps[layer], head, token, "from", tokens),
        TOLERANCE,
      );
    }
    const last = manifest.model.depth - 1;
    const found = pairOf(layers[last], 0, 0, expected.token);
    assertClose(found.attention, expected.pair.attention, TOLERANCE);
    assertClose([found.score, found.bias ?? 0], [expected.pair.score, expected.pair.bias], TOLERANCE);
    assert.equal(found.bias === null, name !== "relative");
    assert.equal(found.cut, expected.maps[last][expected.token] === 0, "a cut edge says that it is cut");
    const [matrix, row] = await new Promise((resolve, reject) => {
      const source = new Source(
        manifest,
        async ({ path }) => buffers[path],
        null,
        () => look(),
      );
      function look() {
        const both = [
          source.matrices.of(last, 0),
          source.relevance.of({
            token: expected.token,
            layer: last,
            first: 0,
            residual: 0.5,
            fusion: "mean",
          }),
        ];
        if (source.relevance.error) reject(source.relevance.error);
        else if (both.every(Boolean)) resolve(both);
      }
      Promise.all(layers.map((_, at) => source.store.ensure(at))).then(look, reject);
    });
    assertClose(matrix, expected.maps[last].slice(0, tokens * tokens), TOLERANCE);
    assertClose(row, expected.rollout, TOLERANCE);
  });
}

test("some edges are cut, in some layers and heads alone, and an intact pass has none", () => {
  const cut = OPERATED.flatMap(({ layers }) => layers.map(({ isCut }) => isCut !== null));
  assert.ok(cut.includes(true) && cut.includes(false));
  assert.ok(FIXTURES.every(({ layers }) => layers.every(({ isCut }) => isCut === null)));
});
