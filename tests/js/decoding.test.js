/** What a page says of a file before it decodes it. That takes a browser: tests/browser/test_pixels.py. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { PhotoError, decoded } from "../../vitviz/viewer/data/decoding.js";
import { isTurned, sizeIn } from "../../vitviz/viewer/data/photofile.js";
import { seenOf } from "../../vitviz/viewer/engine/preprocess.js";

const fileOf = (...parts) =>
  new globalThis.Blob(parts.map((part) => (typeof part === "string" ? part : new Uint8Array(part))));
const toldOf = (file) =>
  decoded(file, "a.png").then(assert.fail, (error) => {
    if (!(error instanceof PhotoError)) throw error;
    return error.told;
  });

test("a file that is no picture is told by its first bytes", async () => {
  assert.equal((await toldOf(fileOf())).key, "empty");
  assert.deepEqual((await toldOf(fileOf("hello"))).values.what, { key: "is_text", values: {} });
  assert.equal((await toldOf(fileOf("\0\0\0\x18ftypheic"))).values.what.key, "is_heic");
  assert.deepEqual((await toldOf(fileOf([0x89], "PNG\r\n"))).values.what, {
    key: "is_damaged",
    values: { format: "PNG" },
  });
  assert.equal(await decoded(fileOf("II*\0"), "a.tiff"), null);
});

test("a folder, and a file that is gone, are told and not an error of the browser", async () => {
  const gone = Object.assign(fileOf("x"), {
    arrayBuffer: () => Promise.reject(new DOMException("not found", "NotFoundError")),
  });
  assert.deepEqual(await toldOf(gone), {
    key: "unreadable",
    values: { name: "'a.png'", reason: { key: "is_gone", values: {} } },
  });
});

test("a picture of very many pixels is not decoded", async () => {
  const size = [
    0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0x23, 0x28, 0, 0, 0x23,
    0x28,
  ];
  const { key, values } = await toldOf(fileOf(size));
  assert.deepEqual(
    [key, values.megapixels, values.size.values],
    ["too_large", "81", { width: "9,000", height: "9,000" }],
  );
  size[19] = size[18] = 0;
  assert.equal((await toldOf(fileOf(size))).key, "nothing_to_see");
  size[12] = 0; // no header: what stands there is no size
  assert.deepEqual((await toldOf(fileOf(size))).values.what, {
    key: "is_damaged",
    values: { format: "PNG" },
  });
});

test("the size of a JPEG is that of its frame, whatever stands before it", () => {
  const segment = (kind, height, width) => [0xff, kind, 0, 11, 8, 0, height, 0, width, 1, 0, 0, 0];
  const before = [0xc4, 0xc8, 0xcc, 0xd0, 0xbf, 0xfe].flatMap((kind) => segment(kind, 1, 1));
  for (const kind of [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]) {
    assert.deepEqual(
      sizeIn(Uint8Array.from([0xff, 0xd8, ...before, ...segment(kind, 5, 7)]), "JPEG"),
      [7, 5],
      kind.toString(16),
    );
    const filled = [0xff, 0xff, ...segment(0xfe, 1, 1), 0xff, ...segment(kind, 5, 7)];
    assert.deepEqual(sizeIn(Uint8Array.from([0xff, 0xd8, ...filled]), "JPEG"), [7, 5], "filled");
  }
  assert.equal(sizeIn(Uint8Array.from([0xff, 0xd8, ...Array(97).fill(0xff)]), "JPEG"), null);
  assert.equal(sizeIn(Uint8Array.from([0xff, 0xd8, ...before]), "JPEG"), null);
});

test("a picture that turns out too large is not kept", async (context) => {
  const closed = [];
  context.after(() => {
    delete globalThis.createImageBitmap;
  });
  globalThis.createImageBitmap = async () =>
    /** @type {any} */ ({ width: 9000, height: 9000, close: () => closed.push(true) });
  const webp = fileOf("RIFF", [4, 0, 0, 0], "WEBP"); // which says no size
  assert.equal((await toldOf(webp)).key, "too_large");
  assert.deepEqual(closed, [true]);
});

test("a picture that no canvas of this browser holds is refused, and not seen as white", async (context) => {
  const AREA = 2 ** 24; // of iPhones
  const drawn = /** @type {any[]} */ ([]);
  context.after(() => {
    delete globalThis.createImageBitmap;
    delete globalThis.document;
  });
  globalThis.document = /** @type {any} */ ({
    createElement: () => ({
      getContext() {
        drawn.push(this);
        return {
          fillRect: (...at) => Object.assign(this, { filled: at.slice(0, 2).join() }),
          getImageData: (...at) => {
            const holds = this.width * this.height <= AREA && this.filled === at.slice(0, 2).join();
            return { data: [0, 0, 0, holds ? 255 : 0] };
          },
        };
      },
    }),
  });
  const closed = [];
  const come = (width, height) => {
    globalThis.createImageBitmap = async () =>
      /** @type {any} */ ({ width, height, close: () => closed.push(true) });
    return fileOf("RIFF", [4, 0, 0, 0], "WEBP");
  };
  const { key, values } = await toldOf(come(6000, 4000));
  assert.deepEqual(
    [key, values.megapixels, values.most, values.size.values, closed.length],
    ["too_large", "24", 16, { width: "6,000", height: "4,000" }, 1],
  );
  assert.deepEqual(
    drawn.map(({ width, height }) => [width, height]),
    [[0, 0]],
    "its memory is given back",
  );
  assert.ok(await decoded(come(4096, 4096), "a.png"));
  assert.equal(drawn.length, 1, "others draw nothing for it");
  globalThis.document.createElement = /** @type {any} */ (
    () => ({ getContext: () => ({ fillRect() {}, getImageData: () => ({ data: [0, 0, 0, 255] }) }) })
  );
  assert.ok(await decoded(come(6000, 4000), "a.png"), "most browsers hold it");
});

test("a picture is closed also where the browser gives no canvas for it", async (context) => {
  const closed = [];
  const bitmap = /** @type {any} */ ({ width: 3, height: 2, close: () => closed.push(true) });
  context.after(() => {
    delete globalThis.createImageBitmap;
    delete globalThis.document;
  });
  const none = /** @type {any} */ ({ createElement: () => ({ getContext: () => null }) });
  globalThis.document = none;
  await assert.rejects(seenOf({ bitmap, preprocess: /** @type {any} */ ({}) }));
  assert.deepEqual(closed, [true]);
  const turned = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEABgAAAAAAANZnS2kAAAAP" +
      "SURBVHjaY+Q8IcfAwAAABKQA8QqF9AkAAAAASUVORK5CYII=",
    "base64",
  );
  let made = 0; // the browser does not turn a PNG itself, and such a picture is drawn anew
  globalThis.createImageBitmap = async () => (made++ ? bitmap : { ...bitmap, width: 2, height: 1 });
  await assert.rejects(decoded(/** @type {any} */ (new Blob([turned])), "a.png"));
  assert.equal(closed.length, 3, "the one that shows what the browser does, too");
});

test("of a file that is full of empty parts only the first ones are looked at", () => {
  const frame = [0xff, 0xc0, 0, 8, 8, 0, 30, 0, 40];
  const jpeg = (empty) =>
    Uint8Array.from([
      0xff,
      0xd8,
      ...Array.from({ length: empty }, () => [0xff, 0xfe, 0, 2]).flat(),
      ...frame,
    ]);
  assert.deepEqual(sizeIn(jpeg(10_000), "JPEG"), [40, 30]);
  assert.equal(sizeIn(jpeg(100_000), "JPEG"), null);
});

test("EXIF data that ends too early turns nothing", () => {
  const exif = [
    ...new TextEncoder().encode("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0"),
  ];
  const jpeg = (parts) => Uint8Array.from([0xff, 0xd8, 0xff, 0xe1, 0, 2 + parts.length, ...parts]);
  assert.equal(isTurned(jpeg(exif), "JPEG"), true);
  for (let length = 0; length < exif.length - 2; length++)
    assert.equal(isTurned(jpeg(exif.slice(0, length)), "JPEG"), false);
});
