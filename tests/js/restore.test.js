/** Back and Forward bring an entry back whole, and an entry that cannot be shown gives its place away. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createHistory } from "../../vitviz/viewer/session/history.js";
import { createPendingPhoto } from "../../vitviz/viewer/session/pendingphoto.js";
import { createRestore } from "../../vitviz/viewer/session/restore.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";
import { openPage } from "./page.js";

const MODEL = "photos";
const EXAMPLE = { link: { model: MODEL, example: "dog" }, photo: { name: "dog.jpg" } };

/** A page with an address in a browser that keeps entries. */
function page(manifest = /** @type {any} */ (EXAMPLE)) {
  const photos = new PhotoStore();
  const asked = [];
  const tab = { entries: [null], at: 0, moved: () => {} };
  const address = {
    read: () => "https://host/?" + tab.at,
    view: () => tab.entries[tab.at],
    write(_href, view, step) {
      if (step) tab.entries.splice(++tab.at, Infinity);
      tab.entries[tab.at] = structuredClone(view);
    },
    follow(moved) {
      tab.moved = moved;
    },
  };
  /** @type {any} */
  const app = {
    source: manifest && { manifest },
    selection: { panel: "attention", lesson: "", token: 5, pinned: true },
    pointer: { compared: null },
    page: { link: address.read },
    hasChosen: () => true,
    select(wanted) {
      app.selection = { ...app.selection, ...wanted };
      history.settle(true);
    },
  };
  const screen = /** @type {any} */ ({ live: {}, board: {} });
  const history = createHistory(app, screen, /** @type {any} */ ({ address }), photos);
  const restore = createRestore(app, screen, address, history, () => asked.push(tab.at));
  return {
    app,
    screen,
    photos,
    tab,
    asked,
    history,
    restore,
    /** An analysis is shown, as session/opening.js does it. */
    shows(shown) {
      const entry = restore.entry(shown);
      app.source = { manifest: shown };
      restore.shown(entry !== null);
    },
    back() {
      tab.at -= 1;
      tab.moved();
    },
  };
}

test("back within one analysis brings the compared token back", (t) => {
  const { app, tab, history, back, asked } = page();
  t.after(history.stop);
  app.pointer.compared = 7;
  history.record();
  app.select({ panel: "rollout" });
  history.record();
  app.pointer.compared = 9;
  back();
  assert.deepEqual([app.selection.panel, app.pointer.compared, tab.entries[0].with], ["attention", 7, 7]);
  tab.entries[0].with = undefined; // of an older version
  app.pointer.compared = 9;
  tab.moved();
  assert.equal(app.pointer.compared, null);
  assert.deepEqual(asked, []);
});

test("successive drawings share an entry, and photos have one each", (t) => {
  const own = (name, id) => ({
    link: { model: MODEL },
    photo: { name },
    upload: { address: id },
    template: {},
  });
  const entriesAfter = (...names) => {
    const { photos, tab, history, shows } = page();
    t.after(history.stop);
    history.record();
    for (const name of names) {
      const photo = photos.create({ file: new Blob(["a"]), name });
      photos.keep(photo);
      shows(own(name, photo.id));
      history.record();
    }
    return tab.entries.length;
  };
  assert.deepEqual(
    [entriesAfter("drawing-1.png", "drawing-2.png"), entriesAfter("cat.jpg", "dog.jpg")],
    [2, 3],
  );
});

test("an analysis that the host has forgotten is made again once in a minute, not in turn for ever", (t) => {
  const { app, restore, history } = page(/** @type {any} */ ({ ...EXAMPLE, model: {} }));
  t.after(history.stop);
  let [asked, now] = [0, 1000];
  app.page.again = () => (asked += 1);
  t.mock.method(globalThis.performance, "now", () => now);
  restore.renew();
  now += 59_000;
  restore.renew();
  assert.equal(asked, 1);
  now += 2000;
  restore.renew();
  assert.equal(asked, 2);
});

test("of two photos that are computed the later one is shown, and the other is not sent", async (t) => {
  openPage(t);
  const pending = createPendingPhoto(
    /** @type {any} */ ({ t: (key) => key }),
    /** @type {any} */ ({ board: null }),
    () => {},
  );
  const shown = [];
  const begin = (name) => {
    let end = /** @type {any} */ (null);
    const making = new Promise((done) => {
      end = done;
    });
    const photo = /** @type {any} */ ({ file: new Blob(["a"]), name });
    const done = pending.during(/** @type {any} */ ({ model: {} }), photo, making, () => shown.push(name));
    return { end, done };
  };
  const [first, second] = [begin("cat.jpg"), begin("dog.jpg")];
  first.end(null); // the host would have to open it, but another one is wanted
  assert.equal(await first.done, true);
  second.end({});
  assert.deepEqual([await second.done, shown], [true, ["dog.jpg"]]);
  const third = begin("scan.tiff");
  third.end(null);
  assert.equal(await third.done, false);
});

test("back to the analysis before a failure asks for it again, for a message stands in its place", (t) => {
  const { app, screen, tab, history, back, asked } = page();
  t.after(history.stop);
  history.record();
  app.select({ panel: "rollout" });
  history.record();
  screen.board = null; // another one failed to open
  back();
  assert.deepEqual([asked, app.selection.panel, tab.entries[1].selection.panel], [[0], "rollout", "rollout"]);
});

test("back before anything is shown loads the page anew, for what comes is of another entry", (t) => {
  const { app, tab, history, back, asked } = page(null);
  const reloaded = [];
  const { location } = globalThis;
  globalThis.location = /** @type {any} */ ({ reload: () => reloaded.push(tab.at) });
  let dialog = /** @type {object|null} */ ({});
  globalThis.document = /** @type {any} */ ({ querySelector: () => dialog });
  t.after(() => {
    history.stop();
    globalThis.location = location;
    delete globalThis.document;
  });
  const entry = (example) => ({ link: { model: MODEL, example }, photo: "", selection: app.selection });
  tab.entries = [entry("dog"), entry("cat")];
  tab.at = 1;
  tab.moved(); // the playground is open
  assert.deepEqual(reloaded, []);
  dialog = null;
  back();
  assert.deepEqual([reloaded, asked, tab.entries[0].link.example], [[0], [], "dog"]);
});

test("what stands in place of a forgotten photo takes its entry, and the next one follows it", (t) => {
  const { app, photos, tab, history, shows, back, asked } = page();
  t.after(history.stop);
  const cat = { link: { model: MODEL, example: "cat" }, photo: { name: "cat.jpg" } };
  history.record();
  const own = photos.create({ file: new Blob(["a"]), name: "own.jpg" });
  photos.keep(own);
  shows({ link: { model: MODEL }, photo: { name: "own.jpg" }, upload: { address: own.id } });
  shows(cat);
  assert.deepEqual(
    tab.entries.map(({ link, photo }) => [link.example ?? "", photo]),
    [
      ["dog", ""],
      ["", own.id],
      ["cat", ""],
    ],
  );
  for (let at = 0; at < 6; at++) photos.keep(photos.create({ file: new Blob(["a"]), name: at + ".jpg" }));
  back();
  assert.deepEqual(asked, [1]);
  app.select({ token: 3 });
  history.record();
  assert.equal(tab.entries[1].photo, own.id, "nothing is written before the host has answered");
  shows(EXAMPLE);
  assert.deepEqual([tab.at, tab.entries.length], [1, 3], "Back and Forward lead past it");
  assert.deepEqual([tab.entries[1].link, tab.entries[1].photo], [EXAMPLE.link, ""]);
  shows(cat);
  assert.deepEqual([tab.at, tab.entries[2].link], [2, cat.link]);
});

test("a model that has learned in this page is not replaced when files of its template are gone", (t) => {
  const { app, history, restore } = page();
  t.after(history.stop);
  let again = 0;
  app.page.again = () => (again += 1);
  app.source.manifest = { ...EXAMPLE, model: { saved_as: "own-cup-pen.safetensors" } };
  restore.renew();
  assert.equal(again, 0);
  app.source.manifest = { ...EXAMPLE, model: {} };
  restore.renew();
  assert.equal(again, 1);
});

test("what comes late is not written over an entry that can still be shown", (t) => {
  const { tab, history, shows, back } = page();
  t.after(history.stop);
  const [cat, bison] = ["cat", "bison"].map((example) => ({
    link: { model: MODEL, example },
    photo: { name: example + ".jpg" },
  }));
  history.record();
  shows(cat);
  back();
  shows(bison); // was chosen before
  assert.deepEqual([tab.at, tab.entries.map(({ link }) => link.example)], [0, ["dog", "cat"]]);
  shows(EXAMPLE);
  shows(bison);
  assert.deepEqual([tab.at, tab.entries.map(({ link }) => link.example)], [1, ["dog", "bison"]]);
});
