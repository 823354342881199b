/** Reads the fixtures: payloads of small models, with numbers that Python computed from them. */

import { readFileSync, readdirSync } from "node:fs";

import { Source } from "../../vitviz/viewer/data/source.js";
import { layerName } from "../../vitviz/viewer/data/layers.js";
import { decodeLayer } from "../../vitviz/viewer/maths/attention.js";
import {
  readFirst,
  readLens,
  readPicture,
  readPositions,
  readResults,
} from "../../vitviz/viewer/data/analysis.js";
import { gridOf } from "../../vitviz/viewer/maths/geometry.js";
import { parseSafetensors } from "../../vitviz/viewer/maths/safetensors.js";

const FOLDER = process.env.VITVIZ_FIXTURE
  ? new URL("file://" + process.env.VITVIZ_FIXTURE + "/")
  : new URL("fixture/", import.meta.url);

function bytes(text) {
  return Uint8Array.from(Buffer.from(text, "base64")).buffer;
}

/** A file of the fixture, by its name. */
export const told = (name) => JSON.parse(readFileSync(new URL(name + ".json", FOLDER), "utf8"));

/** The names of the files in a folder of the fixtures. @param {string} folder */
export const namesIn = (folder) =>
  readdirSync(new URL(folder + "/", FOLDER)).map((name) => name.replace(".json", ""));

/** Every fixture by name, with its files decoded. */
export const FIXTURES = decoded(FOLDER);
export const fixtureOf = (name) => FIXTURES.find((one) => one.name === name);

/** A backend where a host answers everything. @param {any} [ask] @returns {any} */
export const hostOnly = (ask = null) => ({
  ask,
  explains: () => false,
  answererOf: () => ask,
  isLocal: ({ pass }) => pass.here === true,
});

/** The source of a fixture, with its picture. */
export async function sourceOf(name, ask = null) {
  const { manifest, buffers } = fixtureOf(name);
  const source = new Source(
    manifest,
    async ({ path }) => buffers[path],
    hostOnly(ask),
    () => {},
  );
  await source.loaded(false);
  return source;
}

/** Those of operated passes: interventions in, rows out. */
export const OPERATED = decoded(new URL("operated/", FOLDER));

/** Draws with seeds. */
export const DRAWS = told("chance/draws");

/** Logits, and what follows from them. */
export const EXAMPLES = told("results/examples");

/** Photos, and hashes of the pixels that a model sees of them. */
export const PIXELS = told("pixels/pictures");

function decoded(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => decode(name, folder));
}

function decode(name, folder) {
  const expected = JSON.parse(readFileSync(new URL(name, folder), "utf8"));
  const { manifest } = expected;
  const grid = gridOf(manifest);
  const buffers = Object.fromEntries(
    Object.entries(expected.files).map(([path, text]) => [path, bytes(text)]),
  );
  const { first, lens } = manifest.files;
  Object.assign(manifest.pass, readResults(buffers[first.path], manifest), {
    lens: lens ? readLens(buffers[lens.path], manifest) : [],
  });
  const layers = Array.from({ length: manifest.model.depth }, (_, at) =>
    decodeLayer(buffers[manifest.files[layerName(at)].path], manifest, at),
  );
  const positions = manifest.files.positions
    ? readPositions(parseSafetensors(buffers[manifest.files.positions.path]), grid)
    : null;
  const picture = {
    ...readPicture(buffers[manifest.files.picture.path], manifest),
    positions,
    rows: readFirst(buffers[first.path], manifest),
  };
  return { name: name.replace(".json", ""), expected, manifest, grid, buffers, layers, picture };
}

/** A manifest with other facts of its model and its pass, each where it belongs. */
export const withFacts = (manifest, { model = {}, pass = {}, ...rest }) => ({
  ...manifest,
  ...rest,
  model: { ...manifest.model, ...model },
  pass: { ...manifest.pass, ...pass },
});

/** An app for parts; properties that it does not have itself are read from its source. */
export const appOf = (parts) => ({ ...parts, source: parts });

/** A storage that lasts as long as the test. */
export const storageOf =
  (kept = new Map()) =>
  () =>
    /** @type {any} */ ({
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, text) => kept.set(name, text),
    });

/** Waits until something is true. */
export async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

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
