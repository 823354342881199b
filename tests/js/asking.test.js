/**
 * Who is asked about a photo that has not left the page: the page, the host for what it knows, else the
 * visitor.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createAsking } from "../../vitviz/viewer/asking.js";

const LIKE = { pass: { id: "like" }, itself: { key: "example-dog" } };
const OWN = { file: "file", name: "mine.png", address: "mine" };

/** A page that shows a photo of the visitor's, and what was asked of whom. */
function page(like = LIKE) {
  const told = [];
  const host = {
    ask: async (name, params) => {
      told.push(["ask", name, params.id]);
      return {};
    },
    beside: async (key, id) => {
      told.push(["beside", key, id]);
      return { manifest: key };
    },
    takeHome: async () => told.push(["takeHome"]),
    send: async () => told.push(["send"]),
    operate: async () => {},
    own: (address) => (address === "mine" ? OWN : null),
  };
  const manifest = {
    pass: { id: like ? "here-1" : "server" },
    photo: { inverted: true },
    upload: { address: "mine", name: "mine.png" },
    like,
  };
  const app = { source: { manifest }, needed: new Set() };
  const computing = {
    operate: async ({ interventions }) => ({ pass: { changes: interventions, here: true }, files: {} }),
    completed: (manifest) => manifest,
    analyse: async (template, photo) => {
      told.push(["here", template, photo.name, photo.inverted]);
      return "made";
    },
  };
  const need = () => {
    told.push(["visitor"]);
    throw new Error("asked");
  };
  const asking = createAsking(
    /** @type {any} */ (app),
    /** @type {any} */ (host),
    /** @type {any} */ (computing),
    async () => new ArrayBuffer(0),
    (error) => {
      throw error;
    },
    /** @type {any} */ (need),
    () => {},
  );
  return { asking, told, app, manifest };
}

test("what only the host can do with a photo asks the visitor, and no host", async () => {
  const { asking, told } = page();
  await assert.rejects(asking.ask("figure", { id: "here-1" }), /asked/);
  await assert.rejects(asking.ask("figure", { id: "like", other: { id: "here-1" } }), /asked/);
  await assert.rejects(asking.takeHome({ id: "here-1" }), /asked/);
  await assert.rejects(asking.send(/** @type {any} */ (null)), /asked/);
  for (const key of ["untrained", "size-144"]) await assert.rejects(asking.manifestOf(key, null), /asked/);
  assert.deepEqual(told, Array(6).fill(["visitor"]));
  // What a panel asks for by itself is awaited: it comes with the analysis of the host.
  const late = asking.ask("late", { id: "here-1", name: "statistics" });
  assert.equal(await Promise.race([late, new Promise((done) => setTimeout(done, 5, "waits"))]), "waits");
  assert.equal(told.length, 7);
  // Explanations come one after another, and one that only the host has holds up no other.
  await assert.rejects(asking.ask("late", { id: "here-1", name: "explain-new_one-0-any" }), /asked/);
});

test("what says nothing of the photo is the host's, and a photo in a model that runs here the page's", async () => {
  const { asking, told, app, manifest } = page();
  await asking.ask("late", { id: "like", name: "filters" });
  assert.equal(await asking.manifestOf("example-dog", null), LIKE); // the page has it already
  assert.deepEqual(await asking.manifestOf("example-cat", null), { manifest: "example-cat" });
  assert.equal(await asking.manifestOf("model-mnist", null), "made");
  app.needed.add("explain");
  asking.shown(manifest);
  assert.equal(app.needed.size, 0);
  const [{ key }] = asking.besides({ ...manifest, upload: undefined }).filter(({ kind }) => kind === "photo");
  assert.equal(await asking.manifestOf(key, null), "made");
  assert.deepEqual(told, [
    ["ask", "late", "like"],
    ["beside", "example-cat", "like"],
    ["beside", "model-mnist", "like"],
    ["here", { manifest: "model-mnist" }, "mine.png", true],
    ["here", LIKE, "mine.png", undefined],
  ]);
});

test("beside a picture of the host's a photo that stays is the page's, too", async () => {
  const { asking, told, manifest } = page(null);
  asking.shown(manifest);
  const [{ key }] = asking.besides({ ...manifest, upload: undefined }).filter(({ kind }) => kind === "photo");
  assert.equal(await asking.manifestOf(key, null), "made");
  await asking.manifestOf("untrained", null);
  await asking.ask("figure", { id: "server" });
  assert.deepEqual(told, [
    ["here", manifest, "mine.png", undefined],
    ["beside", "untrained", "server"],
    ["ask", "figure", "server"],
  ]);
});

test("a pass keeps the files that its changes leave as they are", async () => {
  const { asking, app } = page(null);
  Object.assign(app.source.manifest, {
    files: Object.fromEntries(["photograph", "inside", "pooling", "film"].map((name) => [name, name])),
  });
  const kept = async (experiment) => {
    Object.assign(app, { selection: { experiment, layer: 0 }, shownToken: () => 0 });
    return Object.keys((await asking.manifestOf("experiment")).files).join(" ");
  };
  assert.equal(await kept("remove_1"), "photograph inside film");
  assert.equal(await kept("shuffle_1_3"), "inside film");
  assert.equal(await kept("positions_off_0"), "photograph film", "what was not turned is not turned back");
});
