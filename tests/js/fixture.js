/** Reads the fixtures: payloads of small models, with numbers that Python computed from them. */

import { readFileSync, readdirSync } from "node:fs";

import { layerName } from "../../vitviz/viewer/data/layers.js";
import { decodeLayer } from "../../vitviz/viewer/maths/attention.js";
import { readFirst, readLens, readPicture, readPositions, readResults } from "../../vitviz/viewer/data/analysis.js";
import { gridOf } from "../../vitviz/viewer/maths/geometry.js";
import { parseSafetensors } from "../../vitviz/viewer/maths/safetensors.js";

const FOLDER = process.env.VITVIZ_FIXTURE
  ? new URL("file://" + process.env.VITVIZ_FIXTURE + "/") : new URL("fixture/", import.meta.url);

function bytes(text) {
  return Uint8Array.from(Buffer.from(text, "base64")).buffer;
}

/** Every fixture by name, with its files decoded. */
export const FIXTURES = decoded(FOLDER);

/** Those of operated passes: interventions in, rows out. */
export const OPERATED = decoded(new URL("operated/", FOLDER));

/** Draws with seeds. */
export const DRAWS = JSON.parse(readFileSync(new URL("chance/draws.json", FOLDER), "utf8"));

/** Logits, and what follows from them. */
export const EXAMPLES = JSON.parse(readFileSync(new URL("results/examples.json", FOLDER), "utf8"));

/** Photos, and hashes of the pixels that a model sees of them. */
export const PIXELS = JSON.parse(readFileSync(new URL("pixels/pictures.json", FOLDER), "utf8"));

function decoded(folder) {
  return readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => decode(name, folder));
}

function decode(name, folder) {
  const expected = JSON.parse(readFileSync(new URL(name, folder), "utf8"));
  const { manifest } = expected;
  const grid = gridOf(manifest);
  const buffers = Object.fromEntries(
    Object.entries(expected.files).map(([path, text]) => [path, bytes(text)]));
  const { first, lens } = manifest.files;
  Object.assign(manifest.pass, readResults(buffers[first.path], manifest), { lens: lens ? readLens(buffers[lens.path], manifest) : [] });
  const layers = Array.from({ length: manifest.model.depth }, (_, at) => decodeLayer(buffers[manifest.files[layerName(at)].path], manifest, at));
  const positions = manifest.files.positions ? readPositions(parseSafetensors(buffers[manifest.files.positions.path]), grid) : null;
  const picture = { ...readPicture(buffers[manifest.files.picture.path], manifest), positions,
    rows: readFirst(buffers[first.path], manifest) };
  return { name: name.replace(".json", ""), expected, manifest, grid, buffers, layers, picture };
}

/** A manifest with other facts of its model and its pass, each where it belongs. */
export const withFacts = (manifest, { model = {}, pass = {}, ...rest }) =>
  ({ ...manifest, ...rest, model: { ...manifest.model, ...model }, pass: { ...manifest.pass, ...pass } });

/** An app for parts; properties that it does not have itself are read from its source. */
export const appOf = (parts) => ({ ...parts, source: parts });

/** Asserts that two rows of numbers agree. */
export function assertClose(actual, expected, tolerance = 1e-4) {
  if (actual.length !== expected.length) {
    throw new Error("expected " + expected.length + " numbers, got " + actual.length);
  }
  for (let i = 0; i < expected.length; i++) {
    if (!(Math.abs(actual[i] - expected[i]) <= tolerance)) {
      throw new Error("[" + i + "]: expected " + expected[i] + ", got " + actual[i]);
    }
  }
}
