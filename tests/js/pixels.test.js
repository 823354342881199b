/** The page makes of a photo what Python makes of it, byte for byte. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { inChannels, isTranslucent, pictureOf } from "../../vitviz/viewer/maths/pixels.js";
import { PIXELS } from "./fixture.js";

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

for (const [name, { height, width, rgba, seen }] of Object.entries(PIXELS.pictures)) {
  test("the pixels of " + name + " are Python's, with each way to resize and to crop", () => {
    const photo = { height, width, data: Buffer.alloc(4 * height * width, rgba, "base64") };
    assert.equal(isTranslucent(photo.data), name === "translucent");
    for (const [way, [plain, inverted]] of Object.entries(seen)) {
      const preprocess = PIXELS.ways[way];
      const of = (invert) => pictureOf(inChannels(photo, preprocess.channels, invert), preprocess);
      assert.deepEqual([of(false).height, of(false).width], preprocess.size);
      assert.equal(hashOf(of(false).data), plain, way);
      assert.equal(hashOf(of(true).data), inverted, way + ", inverted");
    }
  });
}
