/** An analysis arrives: what the hand was doing on the one before ends there. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { createOpening } from "../../vitviz/viewer/session/opening.js";
import { createBench } from "../../vitviz/viewer/state/bench.js";
import { createChoosing } from "../../vitviz/viewer/state/choosing.js";
import { OPERATED } from "../../vitviz/viewer/state/experiment.js";
import { panelOf } from "../../vitviz/viewer/state/panels.js";
import { startTaste } from "../../vitviz/viewer/state/taste.js";
import { fixtureOf, hostOnly, storageOf, until } from "./fixture.js";

const nothing = () => {};

/** A page with a bench, in which analyses arrive; `lost`: paths of files that cannot be fetched. */
function page(lost = new Set()) {
  Object.assign(globalThis, { window: new globalThis.EventTarget() });
  const buffers = Object.assign({}, ...["cls", "registers"].map((name) => inFolder(name).buffers));
  /** @type {any} */
  const app = {
    taste: startTaste(PANELS),
    panels: PANELS,
    backend: { ...hostOnly(), changes: true },
    course: { lesson: () => null, takes: () => false },
    teaching: { shelf: { refused: () => null } },
    sketching: { stir: () => false },
    pointer: { forget: nothing, preview: nothing },
    page: {},
    panel: () => panelOf(PANELS, app.selection.panel),
    shape: (source = app.source) => ({ ...source.shape, panels: PANELS, besides: [OPERATED], lessons: [] }),
  };
  Object.assign(
    app,
    createChoosing(app, storageOf(), () => app.bench.follow(), nothing),
  );
  app.bench = createBench(app, nothing);
  const showMessage = ({ values }) => {
    if (values) throw new Error(values.reason);
  };
  const board = { root: { classList: { toggle: nothing } }, title: () => "" };
  const screen = { setState: nothing, showMessage, showBoard: nothing, live: {}, board };
  const opening = createOpening(
    app,
    /** @type {any} */ (screen),
    async ({ path }) => {
      if (lost.has(path)) throw new TypeError("Failed to fetch");
      return buffers[path];
    },
    null,
    null,
    { shown: nothing, gone: nothing, render: nothing },
    /** @type {any} */ ({ entry: () => null, renewed: () => false, shown: nothing }),
  );
  return {
    app,
    async arrives(name) {
      const { manifest } = inFolder(name);
      opening.update(manifest);
      await until(() => app.source?.manifest.files === manifest.files);
      app.bench.follow(); // as a render does
    },
  };
}

test("what a network that was away has lost comes when it is back", async () => {
  const { manifest } = inFolder("cls");
  const lost = new Set([manifest.files["layer-00"].path]); // the last that comes ahead
  const { app, arrives } = page(lost);
  await arrives("cls");
  const { store } = app.source;
  await until(() => store.get(1) && store.pending.size === 0);
  assert.equal(store.get(0), undefined);
  lost.clear();
  globalThis.window.dispatchEvent(new globalThis.Event("online"));
  await until(() => store.get(0));
});

/** A fixture whose files are told apart from those of others. */
function inFolder(name) {
  const { manifest, buffers } = fixtureOf(name);
  const placed = (path) => name + "/" + path;
  const files = Object.entries(manifest.files).map(([key, file]) => [
    key,
    { ...file, path: placed(file.path) },
  ]);
  return {
    manifest: (known[name] ??= { ...manifest, files: Object.fromEntries(files) }),
    buffers: Object.fromEntries(Object.entries(buffers).map(([path, bytes]) => [placed(path), bytes])),
  };
}
const known = {};

test("a stroke that another model cuts short leaves nothing of the model before", async () => {
  const { app, arrives } = page();
  await arrives("registers"); // 4 x 6 patches, 5 prefix tokens, 5 layers
  app.select({ panel: "experiment", token: 28, layer: 4, pinned: true });
  app.bench.sketch([20]);
  app.bench.first = 22; // of two to swap
  assert.equal(app.bench.underWay(), true);
  await arrives("cls"); // 4 x 4 patches, 1 prefix token, 3 layers
  const at = app.selection;
  assert.ok(at.token < 17 && at.layer < 3);
  app.bench.stroke([3]);
  const { token, layer, experiment } = app.selection;
  assert.deepEqual([token, layer, experiment], [at.token, at.layer, "remove_3"]);
  assert.equal(app.bench.first, null, "the second of two patches is of the same picture");
});
