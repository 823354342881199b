/** safetensors files: numbers are read exactly, and a damaged file is refused with a sentence. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  FormatError, expectTensor, halfToFloat, parseSafetensors, readMetadata, readShapes, toFloat32, writeSafetensors,
} from "../../vitviz/viewer/maths/safetensors.js";

function file(header, body) {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + body.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(body, 8 + text.length);
  return bytes.buffer;
}

test("half precision: zeros, smallest, largest, one, infinities", () => {
  const cases = [[0x0000, 0], [0x3c00, 1], [0xc000, -2], [0x0001, 2 ** -24], [0x03ff, 1023 * 2 ** -24],
    [0x0400, 2 ** -14], [0x7bff, 65504], [0x7c00, Infinity], [0xfc00, -Infinity], [0x3555, 0.333251953125]];
  for (const [word, value] of cases) assert.equal(halfToFloat(word), value);
  assert.ok(Number.isNaN(halfToFloat(0x7e00)));
  const data = Uint16Array.from(cases, ([word]) => word);
  assert.deepEqual([...toFloat32({ dtype: "F16", shape: [10], data })], cases.map(([, v]) => v));
});

test("tensors that do not start at a multiple of their size are read all the same", () => {
  for (const padding of ["", " ", "  ", "   "]) {
    const header = JSON.stringify({ a: { dtype: "F32", shape: [1], data_offsets: [0, 4] } }) + padding;
    const body = new Uint8Array(new Float32Array([1.5]).buffer);
    assert.equal(parseSafetensors(file(header, body)).a.data[0], 1.5);
  }
});

test("metadata is not a tensor, and an empty tensor is one", () => {
  const header = { __metadata__: { x: "y" }, e: { dtype: "F32", shape: [0, 3], data_offsets: [0, 0] } };
  assert.deepEqual(Object.keys(parseSafetensors(file(header, new Uint8Array(0)))), ["e"]);
});

test("damaged files are refused", () => {
  const entry = { dtype: "F32", shape: [2], data_offsets: [0, 8] };
  const refused = [
    [new ArrayBuffer(0), /0 bytes/],
    [file({ a: entry }, new Uint8Array(4)), /needs 8 bytes, the file holds 4/],
    [file({ a: { ...entry, data_offsets: [8, 16] } }, new Uint8Array(12)), /needs 8 bytes, the file holds 4/],
    [file({ a: { ...entry, shape: [3] } }, new Uint8Array(8)), /needs 12 bytes/],
    [file({ a: { ...entry, dtype: "F64" } }, new Uint8Array(8)), /unknown dtype F64/],
    [file("{nonsense", new Uint8Array(0)), /not JSON/],
    [new TextEncoder().encode("<!doctype html>....").buffer, /header of/],
    [file("[".repeat(2 ** 22 + 1), new Uint8Array(0)), /header of 4194305 bytes; at most 4194304 are read/],
  ];
  for (const [buffer, message] of refused) {
    assert.throws(() => parseSafetensors(buffer), (error) =>
      error instanceof FormatError && message.test(error.message));
  }
  const tensors = parseSafetensors(file({ a: entry }, new Uint8Array(8)));
  assert.throws(() => expectTensor(tensors, "a", [1, 2]), /expected shape \[1,2\], got \[2\]/);
  assert.throws(() => expectTensor(tensors, "b", [2]), /no tensor named b/);
});

test("an entry of any form is read as it says, or refused", () => {
  const entry = { dtype: "F32", shape: [2], data_offsets: [0, 8] };
  const values = [undefined, null, 0, "F32", "constructor", "__proto__", true, [], {}, [null], [-8, 0], [0, 8], [0, 8, 9],
    ["0", "8"], [1.5, 9.5], [1e200, 1e200], { length: 2 }, { toString: null }, ["F32"]];
  const names = Object.keys(entry);
  const changed = names.flatMap((one) => names.flatMap((other) =>
    values.flatMap((value) => values.map((more) => ({ ...entry, [one]: value, [other]: more })))));
  let count = 0;
  for (const one of [...values.slice(1), entry, ...changed]) {
    const buffer = file({ a: one }, new Uint8Array(8));
    for (const shapeOf of [() => parseSafetensors(buffer).a.shape, () => readShapes(buffer).get("a")]) {
      try {
        assert.deepEqual(shapeOf(), one.shape);
        count += 1;
      } catch (error) {
        assert.ok(error instanceof FormatError, JSON.stringify(one) + ": " + error);
      }
    }
  }
  assert.ok(count > 0);
});

test("a tensor can have any name, and no other is found under it", () => {
  const named = '{"__proto__": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}';
  const tensors = parseSafetensors(file(named, new Uint8Array(8)));
  assert.deepEqual(Object.keys(tensors), ["__proto__"]);
  for (const name of ["constructor", "shape"]) assert.throws(() => expectTensor(tensors, name, [2]), /no tensor named/);
});

test("what is written is read again, also parts of longer rows", () => {
  const numbers = Float32Array.from([9, 1.5, -2, 0.1]);
  const bytes = Uint8Array.from([7, 8, 9]);
  const written = writeSafetensors({ odd: { shape: [3], data: bytes }, part: { shape: [3, 1], data: numbers.subarray(1) } }, { said: "점" });
  const { odd, part } = parseSafetensors(written);
  assert.deepEqual([odd.dtype, odd.shape, [...odd.data]], ["U8", [3], [7, 8, 9]]);
  assert.deepEqual([part.dtype, part.shape, [...part.data]], ["F32", [3, 1], [...numbers.subarray(1)]]);
  assert.equal(part.data.buffer, written, "numbers are aligned, so that nothing is copied");
  assert.deepEqual(readMetadata(written), { said: "점" });
  assert.deepEqual(readMetadata(writeSafetensors({})), {});
});
