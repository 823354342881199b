/** A photo that has not left the page is analyzed there, or by the host once the visitor agrees. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createComparisons } from "../../vitviz/viewer/session/comparisons.js";
import { createBackend } from "../../vitviz/viewer/passes/backend.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";

const MODEL = { key: { name: "mnist", untrained: false, image_size: null } };
const LIKE = { model: MODEL, pass: { id: "like" }, itself: { key: "example-dog" } };

/** A page that shows a photo of the visitor's, and what was asked of whom. */
function page(template = LIKE, others = {}) {
  const photos = new PhotoStore();
  const mine = photos.create({ file: new Blob(["a"]), name: "mine.png" });
  photos.keep(mine);
  const told = [];
  const host = {
    ask: async (name, params) => {
      told.push(["ask", name, params.id]);
      return {};
    },
    beside: async (key, id) => {
      told.push(["beside", key, id]);
      return { model: MODEL, manifest: key };
    },
    takeHome: async () => told.push(["takeHome"]),
    send: async (file) => {
      told.push(["send"]);
      return { name: file.name, file };
    },
    share: async () => {},
    operate: async (interventions) => ({ pass: { changes: interventions, here: true }, files: {} }),
    weights: { mnist: new ArrayBuffer(0) },
    running: async () => ({
      started: async () => ({ engine: {}, known: { facts: { unknown: [], simd: true } } }),
      analysed: async ({ template, name, inverted }) => {
        told.push(["here", template, name, inverted]);
        return "made";
      },
    }),
    ...others,
  };
  const manifest = {
    model: MODEL,
    pass: { id: template ? "here-1" : "server" },
    photo: { inverted: true },
    upload: { address: mine.id, name: "mine.png" },
    template,
  };
  const app = { source: { manifest }, consent: { forget: () => told.push(["forget"]) } };
  const passes = (error) => {
    throw error;
  };
  const consent = (...ids) => {
    told.push(["visitor", ...ids]);
    throw new Error("asked");
  };
  const on = { fetchFile: async () => new ArrayBuffer(0), noticing: passes, photos, consent };
  const backend = createBackend(/** @type {any} */ (host), /** @type {any} */ (on), () => {});
  const comparisons = createComparisons(/** @type {any} */ (app), backend, photos, on.fetchFile, () => {});
  return { backend, comparisons, told, app, manifest, photos };
}

test("what only the host can do with a photo asks the visitor, and no host", async () => {
  const { backend, comparisons, told } = page();
  await assert.rejects(backend.ask("figure", { id: "here-1" }), /asked/);
  await assert.rejects(backend.ask("figure", { id: "like", other: { id: "here-1" } }), /asked/);
  await assert.rejects(backend.takeHome({ id: "here-1" }), /asked/);
  await assert.rejects(comparisons.send(/** @type {any} */ (null)), /asked/);
  await assert.rejects(comparisons.manifestOf("untrained", null), /asked/);
  const asked = ["visitor"];
  assert.deepEqual(told, [[...asked, ["here-1"]], [...asked, ["here-1"]], asked, asked, asked]);
  // What a panel asks for by itself is awaited: it comes with the analysis of the host.
  const late = backend.ask("late", { id: "here-1", name: "statistics" });
  assert.equal(await Promise.race([late, new Promise((done) => setTimeout(done, 5, "waits"))]), "waits");
  assert.equal(told.length, 6);
  // Explanations come one after another, and one that only the host has holds up no other.
  await assert.rejects(backend.ask("late", { id: "here-1", name: "explain-new_one-0-any" }), /asked/);
});

test("what says nothing of the photo is the host's, and a photo in a model that runs here the page's", async () => {
  const { backend, comparisons, told, manifest } = page();
  await backend.ask("late", { id: "like", name: "filters" });
  assert.equal(await comparisons.manifestOf("example-dog", null), LIKE); // the page has it already
  assert.deepEqual(await comparisons.manifestOf("example-cat", null), {
    model: MODEL,
    manifest: "example-cat",
  });
  assert.equal(await comparisons.manifestOf("model-mnist", null), "made");
  assert.equal(await comparisons.manifestOf("size-144", null), "made");
  comparisons.shown(manifest);
  const [{ key }] = comparisons
    .besides({ ...manifest, upload: undefined })
    .filter(({ kind }) => kind === "photo");
  assert.equal(await comparisons.manifestOf(key, null), "made");
  assert.deepEqual(told, [
    ["ask", "late", "like"],
    ["beside", "example-cat", "like"],
    ["beside", "model-mnist", "like"],
    ["here", { model: MODEL, manifest: "model-mnist" }, "mine.png", true],
    ["beside", "size-144", "like"],
    ["here", { model: MODEL, manifest: "size-144" }, "mine.png", true],
    ["forget"],
    ["here", LIKE, "mine.png", false],
  ]);
});

test("beside a picture of the host's a photo that stays is the page's, too", async () => {
  const { backend, comparisons, told, manifest } = page(null);
  comparisons.shown(manifest);
  const [{ key }] = comparisons
    .besides({ ...manifest, upload: undefined })
    .filter(({ kind }) => kind === "photo");
  assert.equal(await comparisons.manifestOf(key, null), "made");
  await comparisons.manifestOf("untrained", null);
  await backend.ask("figure", { id: "server" });
  assert.deepEqual(told, [
    ["forget"],
    ["here", manifest, "mine.png", false],
    ["beside", "untrained", "server"],
    ["ask", "figure", "server"],
  ]);
});

test("the photo that is shown is not forgotten for photos that stand beside it", async () => {
  const { comparisons, photos, manifest } = page(null);
  let sent = "";
  for (let at = 0; at < 8; at++) sent = await comparisons.send(new File(["b"], `${at}.png`));
  assert.equal(photos.all.length, 6);
  assert.ok(photos.find(sent));
  assert.ok(photos.find(manifest.upload.address));
});

test("a photo that stays stands beside others in models of this page alone", async () => {
  const { comparisons, manifest, told } = page(null);
  const offered = (name) => {
    const model = { key: { ...MODEL.key, name } };
    const other = { ...manifest, model, upload: undefined };
    return comparisons.besides(other).filter(({ kind }) => kind === "photo").length;
  };
  assert.deepEqual([offered("mnist"), offered("vit_base")], [1, 0]);
  const { upload } = manifest;
  manifest.model = { key: { ...MODEL.key, name: "vit_base" } };
  await assert.rejects(comparisons.manifestOf(upload.address), /asked/);
  assert.deepEqual(told, [["visitor", [upload.address]]]); // it is not the photo on the board
});

test("a page that sends nothing puts any photo beside another", async () => {
  const { comparisons, told } = page(LIKE, { share: undefined });
  const key = await comparisons.send(new File(["a"], "other.png"));
  assert.equal(await comparisons.manifestOf(key), "made");
  assert.deepEqual(told, [["send"], ["here", LIKE, "other.png", false]]);
});

test("a pass keeps the files that its changes leave as they are", async () => {
  const { comparisons, app } = page(null);
  Object.assign(app.source.manifest, {
    model: { key: { ...MODEL.key, name: "other" } },
    files: Object.fromEntries(["photograph", "inside", "pooling", "film"].map((name) => [name, name])),
  });
  const kept = async (experiment) => {
    Object.assign(app, { selection: { experiment, layer: 0 }, pointer: { shownToken: () => 0 } });
    return Object.keys((await comparisons.manifestOf("experiment")).files).join(" ");
  };
  assert.equal(await kept("remove_1"), "photograph inside film");
  assert.equal(await kept("shuffle_1_3"), "inside film");
  assert.equal(await kept("positions_off_0"), "photograph film", "what was not turned is not turned back");
});
