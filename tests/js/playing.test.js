/** A model that was taught in the page stays while another picture is shown to it. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createPlaying } from "../../vitviz/viewer/session/playing.js";

beforeEach(() => {
  globalThis.document = { createElement: () => ({ setAttribute() {}, append() {} }) };
});
afterEach(() => {
  delete globalThis.document;
});

const HOSTS = { link: { model: "photos", example: "dog" } };
const WORDS = { ko: { texts: { "cup, pen": "컵, 펜" } } };
const TAUGHT = { photo: {}, model: { key: { name: "own-1" }, title: "cup, pen", words: WORDS } };
const file = (name) => new File(["a"], name);

/** A page whose host knows its own models, with the playground that teaches one. */
function page(more = {}) {
  const did = [];
  const around = { place: null };
  const app = { source: { manifest: HOSTS }, language: "en", t: (key) => key };
  const host = {
    element: {},
    playing: async () => ({
      createPlayground(place) {
        around.place = place;
        return { open: () => did.push("open"), destroy() {} };
      },
    }),
    draw: async (_file, name) => did.push(["host draws", name]),
    take: (_file, name) => did.push(["host takes", name]),
    look: (look) => did.push(["host looks", look]),
    ...more,
  };
  const show = async (template, photo) => {
    if (photo.name === "no picture") throw new Error("no picture");
    did.push([template, photo.name, photo.file.name, Boolean(photo.inverted), Boolean(photo.stretched)]);
    app.source = { manifest: { ...template, template } };
    return true;
  };
  const playing = createPlaying(/** @type {any} */ (app), /** @type {any} */ (host), show);
  return { app, did, playing, around };
}

test("before a model is taught, pictures and looks are the host's", async () => {
  const { did, playing } = page();
  const look = { inverted: true, stretched: false };
  await playing.take(file("a.png"), "a.png");
  await playing.look(look);
  await playing.draw(file("b.png"), "b.png", true);
  assert.deepEqual(did, [
    ["host takes", "a.png"],
    ["host looks", look],
    ["host draws", "b.png"],
  ]);
  const without = page({ take: undefined, look: undefined, draw: undefined }).playing;
  assert.deepEqual([without.take, without.look, without.draw], [undefined, undefined, undefined]);
});

test("a taught model sees what the camera keeps, and its picture with other levels", async () => {
  const { app, did, playing, around } = page();
  await playing.open();
  did.length = 0;
  await around.place.adopt({ template: TAUGHT, buffer: null, photo: { file: file("cup.jpg"), name: "cup" } });
  await playing.look({ inverted: false, stretched: true });
  await playing.take(file("webcam.png"), "cam");
  await playing.look({ inverted: true, stretched: false });
  await playing.look({ inverted: false, stretched: false });
  await playing.draw(file("drawn.png"), "ink", false);
  await assert.rejects(async () => playing.take(file("text"), "no picture"));
  await playing.look({ inverted: true, stretched: false });
  assert.deepEqual(did, [
    [TAUGHT, "cup", "cup.jpg", false, false],
    [TAUGHT, "cup", "cup.jpg", false, true],
    [TAUGHT, "cam", "webcam.png", false, false],
    [TAUGHT, "cam", "webcam.png", true, false],
    [TAUGHT, "cam", "webcam.png", false, false],
    [TAUGHT, "ink", "drawn.png", false, false],
    [TAUGHT, "ink", "drawn.png", true, false],
  ]);
  app.source = { manifest: HOSTS }; // an example was chosen
  did.length = 0;
  await playing.take(file("a.png"), "a.png");
  assert.deepEqual(did, [["host takes", "a.png"]]);
});

test("the host hears the name of a taught model while it is shown, in the language of the page", async () => {
  const names = [];
  const { app, playing, around } = page({ adopted: (name) => names.push(name) });
  // as far as the page of a test draws it
  const drawn = () => {
    playing.row.replaceChildren = () => {};
    playing.render();
    return names.splice(0);
  };
  assert.deepEqual(drawn(), []);
  await playing.open();
  const photo = { file: file("cup.jpg"), name: "cup" };
  await around.place.adopt({ template: TAUGHT, buffer: null, photo });
  assert.deepEqual(drawn(), ["cup, pen"]);
  await playing.take(file("b.png"), "b.png");
  assert.deepEqual(drawn(), []);
  app.language = "ko";
  assert.deepEqual(drawn(), ["컵, 펜"]);
  const taught = app.source;
  app.source = { manifest: HOSTS }; // an example was chosen, or Back was pressed
  assert.deepEqual(drawn(), [""]);
  assert.deepEqual(drawn(), []);
  app.source = taught; // Forward
  assert.deepEqual(drawn(), ["컵, 펜"]);
});

test("a link to the playground opens it by the way that says when it does not come", async () => {
  for (const [href, more, times] of [
    ["https://host/?play", {}, 1],
    ["https://host/?teach", {}, 1],
    ["https://host/?model=photos", {}, 0],
    ["https://host/?play", { playing: undefined }, 0],
  ]) {
    const asked = [];
    const lost = () => Promise.reject(new Error("lost"));
    const playing = more.playing === undefined && "playing" in more ? undefined : () => lost(asked.push(1));
    const { playing: made } = page({ address: { read: () => href }, playing });
    await new Promise((done) => setTimeout(done, 0));
    assert.deepEqual(asked, [], "nothing is fetched before the page can say that it is on its way");
    const opened = [];
    made.begin(() => lost(opened.push(1)));
    await new Promise((done) => setTimeout(done, 0)); // a rejection that nobody hears fails the test
    assert.equal(opened.length, times);
  }
});

test("the weights of the last six models that were taught are kept", async () => {
  const weights = { photos: new ArrayBuffer(1) };
  const { playing, around } = page({ weights });
  await playing.open();
  for (let at = 1; at <= 8; at++)
    await around.place.adopt({
      template: { model: { key: { name: "own-" + at } } },
      buffer: new ArrayBuffer(at),
      photo: { file: file("cup.jpg"), name: "cup" },
    });
  const kept = [3, 4, 5, 6, 7, 8].map((at) => "own-" + at);
  assert.deepEqual(Object.keys(weights), ["photos", ...kept]);
});
