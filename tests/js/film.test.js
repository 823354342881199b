/** The film of a training as the browser reads it, with the numbers that Python wrote. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  answersAt, attentionAt, epochText, knowsNothing, pixelsOf, readFilm, similarityAt,
} from "../../vitviz/viewer/data/film.js";
import { FormatError } from "../../vitviz/viewer/maths/safetensors.js";
import { training } from "../../vitviz/viewer/panels/training.js";
import { FIXTURES, appOf, assertClose, fixtureOf } from "./fixture.js";

const { film: expected } = fixtureOf("cls").expected;
const buffer = Uint8Array.from(Buffer.from(expected.file, "base64")).buffer;

test("every number is where Python put it", () => {
  const film = readFilm(buffer);
  assert.deepEqual([film.rows, film.cols, film.prefix, film.layers, film.heads], [4, 4, 1, 3, 2]);
  assert.deepEqual(film.names, ["first", "<b>second</b>", "third"]);
  assert.equal(film.moments[0].loss, null);
  assert.equal(film.beganWith, "<b>earlier</b>");
  assertClose(similarityAt(film, 1, 6), expected.similarity, 1e-6);
  assertClose(attentionAt(film, 1, 2, 1, 1), expected.head, 1e-6);
  assertClose(attentionAt(film, 1, 2, 1, "mean"), expected.mean, 1e-5);
  assertClose(pixelsOf(film, 1).subarray(0, 64), expected.pixels, 0);
  assert.deepEqual(answersAt(film, 1, 2, 3).map(({ label }) => label), expected.answers.map(([label]) => label));
  assertClose(answersAt(film, 1, 2, 3).map(({ probability }) => probability), expected.answers.map(([, share]) => share), 1e-5);
});

test("the film of a model that learns no positions has none", () => {
  const without = new TextDecoder("latin1").decode(buffer).replace('"positions"', '"pos_embed"');
  const film = readFilm(Uint8Array.from(without, (c) => c.charCodeAt(0)).buffer);
  assert.equal(film.positions, null);
  assertClose(attentionAt(film, 1, 2, 1, 1), expected.head, 1e-6);
});

test("before the first step all classes are alike", () => {
  const film = readFilm(buffer);
  assertClose(expected.first, Array(7).fill(1 / 7), 1e-3);
  assert.ok(knowsNothing(answersAt(film, 0, 0, 3), 7));
  assert.ok(!knowsNothing(answersAt(film, 1, 2, 3), 7));
});

test("what is no film says so", () => {
  const picture = Object.entries(FIXTURES[0].buffers).find(([path]) => path.startsWith("picture"))[1];
  assert.throws(() => readFilm(picture), FormatError);
  assert.throws(() => readFilm(new ArrayBuffer(3)), FormatError);
  assert.throws(() => readFilm(buffer.slice(0, buffer.byteLength - 8)), FormatError);
  const older = new TextDecoder("latin1").decode(buffer).replace('\\"version\\": 1', '\\"version\\": 9');
  assert.throws(() => readFilm(Uint8Array.from(older, (c) => c.charCodeAt(0)).buffer), /another version: 9/);
  const lacking = new TextDecoder("latin1").decode(buffer).replace(/\\"moments\\": \[\{.*?\}/, (found) => '\\"moments\\": [null'.padEnd(found.length));
  assert.throws(() => readFilm(Uint8Array.from(lacking, (c) => c.charCodeAt(0)).buffer), FormatError);
});

test("the figures of the moments as a table", () => {
  const film = readFilm(buffer);
  const { tables: { training: table }, figures } = training.saves(appOf({ film: { exists: true, here: film } }));
  assert.deepEqual(figures, ["training"]);
  assert.deepEqual(table.columns.slice(0, 3), ["step", "epoch", "images"]);
  assert.deepEqual(table.rows[1], [20, 2.5, 2560, 90, 0.5, 0.6, 0.95]);
  assert.ok(Number.isNaN(table.rows[0][4])); // no loss before the first step
  assert.deepEqual(training.saves(appOf({ film: { exists: true, here: null } })), { tables: {}, figures: ["training"] });
  assert.deepEqual(training.saves(appOf({ film: { exists: false } })), { tables: {}, figures: [] });
});

test("epochs on an axis", () => {
  assert.deepEqual([0, 0.0312, 0.52, 1.04, 3.96, 11.8, 24].map(epochText), ["0", "0.03", "0.5", "1", "4", "12", "24"]);
});
