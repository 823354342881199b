/** A derived app reads through to the app, and cannot be written. */

import assert from "node:assert/strict";
import test from "node:test";
import { derived } from "../../vitviz/viewer/state/derivedapp.js";

test("what a derived app lacks is read from the app as it is now", () => {
  const app = { language: "en", panel: () => "attention" };
  const there = derived(app, {
    get panel() {
      return () => app.language + " panel";
    },
  });
  app.language = "ko";
  assert.equal(there.language, "ko");
  assert.equal(there.panel(), "ko panel");
  assert.equal(app.panel(), "attention");
});

test("state is written in the app, and in no copy", () => {
  const app = { selection: 1, language: "en" };
  const there = derived(app, { selection: 2 });
  assert.throws(() => (there.selection = 3), TypeError);
  there.language = "ko";
  assert.deepEqual([app.selection, app.language, there.language, there.selection], [1, "ko", "ko", 2]);
});
