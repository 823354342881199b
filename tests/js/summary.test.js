/** The summary of many pictures: what it says of where a model always looks, and where it can say nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createSummary } from "../../vitviz/viewer/many/summary.js";
import { openPage } from "./page.js";

const t = (key, values = {}) => [key, ...Object.values(values)].join(" ");

/** The sentence below the mean of two maps of a grid. */
function saidOf(context, side) {
  openPage(context);
  const patches = side ** 2;
  const model = /** @type {any} */ ({
    prefix_tokens: ["cls"],
    num_tokens: patches + 1,
    grid: { rows: side, cols: side, patch_height: 2, patch_width: 2 },
    image: { width: 2 * side, height: 2 * side, channels: 1 },
  });
  const source = { manifest: { model: { depth: 1 } } };
  const app = { t, source, taste: { colours: "magma" }, selection: { layer: 0, head: "mean" } };
  const summary = createSummary(app, model, t);
  const done = /** @type {any[]} */ ([{}, {}]);
  summary.render(
    done,
    /** @type {any} */ ({
      distance: [[1, 2]],
      error: [[0.1, 0.1]],
      map: new Array(patches).fill(1 / patches),
      common: new Map(done.map((item) => [item, 1])),
    }),
  );
  const notes = summary.root.querySelectorAll("p.vv-note");
  return notes[notes.length - 1].textContent;
}

test("a mean map of sixteen patches says how much its middle has", (context) => {
  assert.equal(saidOf(context, 4), "many_scale 3.0 many_middle 25.0% 25.0% 1.0 many_common 100.0%");
});

test("a grid without a patch in the middle says nothing of it", (context) => {
  assert.equal(saidOf(context, 2), "many_scale 3.0 many_common 100.0%");
});
