/** The page makes of a photo what Python makes of it, byte for byte. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import {
  canStretch,
  cutTo,
  framing,
  inChannels,
  isDark,
  isTranslucent,
  levelsOf,
  pictureOf,
  tableOf,
  uncropped,
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
        const again = pictureOf(picture, uncropped(preprocess)); // what a model has seen is not cropped again
        assert.equal(hashOf(again.data), hashes[at], way + JSON.stringify(look));
      });
    }
  });
}

test("the last rows and columns, which fill no patch, are cut away", () => {
  for (const { height, width, rgba, seen } of Object.values(PIXELS.pictures)) {
    const photo = { height, width, data: Buffer.alloc(4 * height * width, rgba, "base64") };
    for (const way of Object.keys(seen)) {
      const { [way]: preprocess } = PIXELS.ways;
      const { channels } = preprocess;
      const [rows, cols] = preprocess.size.map((side, at) => side - 3 - at);
      const whole = pictureOf(inChannels(photo, channels), preprocess);
      const wanted = Array.from({ length: rows }, (_, row) => {
        const from = row * whole.width * channels;
        return [...whole.data.subarray(from, from + cols * channels)];
      });
      const cut = cutTo(preprocess, [rows, cols]);
      const picture = pictureOf(inChannels(photo, channels), cut);
      assert.deepEqual([picture.height, picture.width], [rows, cols]);
      assert.equal(hashOf(picture.data), hashOf(Buffer.from(wanted.flat())), way);
      const [top, left, bottom, right] = framing(photo, preprocess);
      const [wide, high] = [(right - left) / whole.width, (bottom - top) / whole.height];
      framing(photo, cut).forEach((edge, at) => {
        const close = Math.abs(edge - [top, left, top + rows * high, left + cols * wide][at]);
        assert.ok(close < 1e-9 * (1 + Math.abs(edge)), way);
      });
    }
  }
});
