/** Style sheets of the viewer and of the page around it. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

const FOLDERS = ["../../vitviz/viewer/style/", "../../vitviz/web/page/"];
// Each holds an input or a class, and no other element follows from what is in it.
const SMALL = [
  ".vv-layer:has(input:checked)",
  ".vv-layer:has(input:focus-visible)",
  ":root:has(> body.dark)",
];

/**
 * Selectors with :has() of a sheet that are not allowed.
 * @param {string} css
 */
const costly = (css) =>
  css
    .replace(/\/\*.*?\*\//gs, "")
    .split(/[{},]\s*/)
    .filter((selector) => selector.includes(":has("))
    .filter((selector) => !SMALL.some((part) => selector.trim().endsWith(part)));

// Chromium keeps one set of what follows from any :has(): an element on whose :has() a rule for what it
// holds depends gets all its styles anew whenever a text in it changes.
test("no style depends on what a part of the board holds", () => {
  const sheets = FOLDERS.flatMap((folder) => {
    const url = new URL(folder, import.meta.url);
    return readdirSync(url)
      .filter((name) => name.endsWith(".css"))
      .map((name) => new URL(name, url));
  });
  assert.ok(sheets.length > 8);
  for (const sheet of sheets) {
    const found = costly(readFileSync(sheet, "utf8"));
    assert.deepEqual(found, [], sheet.pathname + ": let the code that knows it set a class");
  }
});

test("a selector with :has() is found wherever it stands", () => {
  assert.deepEqual(costly(".a, .b:has(.c) > .d { e: f }"), [".b:has(.c) > .d "]);
  assert.deepEqual(costly("@media (min-width: 1px) { .a:not(:has(.b)) { c: d } }"), [".a:not(:has(.b)) "]);
  assert.deepEqual(costly("/* .a:has(.b) {} */ .vv-layer:has(input:checked) { e: f }"), []);
});
