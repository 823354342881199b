/** The page to take home: what is put into it cannot end its script, and its size is told before. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { estimate, filled, neededBy } from "../../vitviz/viewer/saving/takehome.js";
import { sourceOf } from "./fixture.js";
import { appOf } from "./walk.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";

const PAGE = readFileSync(new URL("../../vitviz/payload/page.html", import.meta.url), "utf8");

test("the page has one place for what is taken, and nothing gets out of it", () => {
  const taken = {
    note: "</script><script>alert(1)</script> <!-- $& 개",
    guesses: {},
    selection: { token: 3 },
  };
  const page = filled(PAGE, taken);
  assert.equal(page.split('id="taken"').length, 2);
  const inside = page.slice(page.indexOf('id="taken">') + 'id="taken">'.length);
  const text = inside.slice(0, inside.indexOf("</script"));
  assert.ok(!text.includes("<"));
  assert.deepEqual(JSON.parse(text), taken);
  assert.equal(filled(page.replace(text, "null"), null), PAGE);
  assert.throws(() => filled("<p>", taken), /no place/);
});

test("fewer layers make a smaller page, and the film a larger one", () => {
  const file = (size) => ({ path: "x", size });
  const manifest = /** @type {any} */ ({
    model: { depth: 3, num_tokens: 10, embed_dim: 8 },
    files: {
      picture: file(300),
      "layer-00": file(3000),
      "layer-01": file(3000),
      "layer-02": file(3000),
      film: file(30_000),
    },
  });
  const of = (...layers) => estimate(manifest, new Set(layers), false);
  const step = of(0, 1) - of(0);
  assert.ok(step > 4000 && Math.abs(of(0, 1, 2) - of(0, 1) - step) < 1e-6);
  assert.equal(estimate(manifest, new Set([0]), true) - of(0), 40_000);
  // of a photo that stays in the page
  const here = { ...manifest, files: { picture: {}, "layer-00": { make: null }, film: {} } };
  assert.ok(
    Math.abs(estimate(here, new Set([0]), false) - (of(0) - (4 / 3) * (300 + 3000 - 4 * 10 * 8))) < 1e-6,
  );
});

test("guesses that came with a page are known, and those made in it are newer", () => {
  const book = guessBook(
    () => {
      throw new Error("no storage");
    },
    { "ask/tap": { guess: 3 }, "cut/a": { guess: 1 } },
  );
  book.keep("ask/tap", { guess: 4 });
  assert.deepEqual(book.of("ask"), { "ask/tap": { guess: 4 } });
  assert.deepEqual(book.recall("cut/a"), { guess: 1 });
});

test("a lesson takes along the layers and the film that its steps speak of", async () => {
  const app = appOf(await sourceOf("registers"));
  assert.deepEqual(neededBy(app), { layers: [], film: false });
  const of = (lesson) => {
    app.select({ lesson, step: 1 });
    return neededBy(app);
  };
  assert.deepEqual(of("ask"), { layers: [2, app.source.manifest.model.depth - 1, 1], film: false });
  assert.equal(of("school").film, true);
});
