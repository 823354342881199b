/** A photo whose levels are read in another way is called so wherever it has a name, and its link does it again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { linkOfLook, lookIn, lookOf } from "../../vitviz/viewer/maths/photolevels.js";
import { startSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { writeLink } from "../../vitviz/viewer/state/link.js";
import { photoName, sideNames, sourceName, translator } from "../../vitviz/viewer/text/words.js";
import { appOf, fixtureOf } from "./fixture.js";

const { manifest, grid } = fixtureOf("grey");

function app(inverted, language = "en", stretched = false) {
  const photo = { ...manifest.photo, name: "three.png", inverted, stretched };
  return appOf({ manifest: { ...manifest, photo }, language, t: translator(language) });
}

test("an inverted photo is called so", () => {
  assert.deepEqual(
    [false, true].map((inverted) => photoName(app(inverted))),
    ["three.png", "three.png (inverted)"],
  );
  assert.equal(photoName(app(true, "ko")), "three.png (반전)");
  assert.equal(photoName(app(false, "en", true)), "three.png (stretched)");
  assert.equal(photoName(app(true, "en", true)), "three.png (stretched) (inverted)");
  assert.match(sourceName(app(true)), /^three.png \(inverted\) · /);
  assert.deepEqual(sideNames(app(false), app(true)), ["three.png", "three.png (inverted)"]);
});

test("the link inverts it again, and that of another analysis does not", () => {
  const shape = { depth: 3, heads: 4, grid, panels: PANELS };
  const write = (href, origin) => writeLink(href, startSelection(shape), startTaste(PANELS), origin, shape);
  const inverted = write("http://x/", { model: "mnist", example: "digit", invert: "1" });
  assert.equal(new URL(inverted).searchParams.get("invert"), "1");
  assert.equal(new URL(write(inverted, { model: "mnist" })).searchParams.get("invert"), null);
  for (const look of [{}, { inverted: true }, { stretched: true }, { inverted: true, stretched: true }].map(
    lookOf,
  )) {
    const { searchParams } = new URL(write(inverted, { model: "mnist", ...linkOfLook(look) }));
    assert.deepEqual(lookIn(Object.fromEntries(searchParams)), look);
  }
});
