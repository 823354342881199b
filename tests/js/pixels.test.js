/** The page makes of a photo what Python makes of it, byte for byte. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import {
  canStretch,
  inChannels,
  isDark,
  isTranslucent,
  levelsOf,
  pictureOf,
  tableOf,
} from "../../vitviz/viewer/maths/pixels.js";
import { PIXELS } from "./fixture.js";

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** As `looked` of tests/pixels_fixture.py. */
const LOOKS = [{}, { inverted: true }, { stretched: true }, { inverted: true, stretched: true }];

test("a picture is dark below half of the range, and one level is not stretched", () => {
  const of = (...greys) => levelsOf(Uint8Array.from(greys.flatMap((grey) => [grey, grey, grey, 255])));
  assert.deepEqual(of(9, 127, 30), [9, 127]);
  assert.deepEqual([of(9, 127), of(9, 128), of(7, 7), of(0, 0)].map(isDark), [true, false, false, false]);
  assert.deepEqual([of(9, 127), of(0, 254), of(0, 255), of(7, 7)].map(canStretch), [
    true,
    true,
    false,
    false,
  ]);
  assert.deepEqual(levelsOf(Uint8Array.from([5, 6, 7, 0, 9, 9, 9, 255])), [9, 255], "nothing is white");
  assert.deepEqual([...tableOf({ stretched: true }, [7, 7])], [...tableOf()]);
});

for (const [name, { height, width, rgba, seen }] of Object.entries(PIXELS.pictures)) {
  test("the pixels of " + name + " are Python's, with each way to resize and to crop", () => {
    const photo = { height, width, data: Buffer.alloc(4 * height * width, rgba, "base64") };
    assert.equal(isTranslucent(photo.data), name === "translucent");
    const levels = levelsOf(photo.data);
    for (const [way, hashes] of Object.entries(seen)) {
      const preprocess = PIXELS.ways[way];
      LOOKS.forEach((look, at) => {
        const picture = pictureOf(inChannels(photo, preprocess.channels, tableOf(look, levels)), preprocess);
        assert.deepEqual([picture.height, picture.width], preprocess.size);
        assert.equal(hashOf(picture.data), hashes[at], way + JSON.stringify(look));
      });
    }
  });
}
