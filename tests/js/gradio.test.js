/** The host of Gradio's page: whose photo is shown when several come, and what the server is asked. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { open } from "../../vitviz/viewer/hosts/gradio.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";

const NAMES = ["document", "window", "innerHeight", "location", "history", "CustomEvent"];
const NO_PICTURE = () => Object.assign(new Error("no picture"), { said: { en: "It is no picture." } });
const turn = () =>
  new Promise((done) => {
    setTimeout(done, 0);
  });

let marks = {};
let said = [];
beforeEach(() => {
  [marks, said] = [{}, []];
  globalThis.document = {
    baseURI: "https://host/",
    documentElement: {
      toggleAttribute: (name, on) => {
        marks[name] = on;
      },
    },
    dispatchEvent: ({ detail }) => said.push(detail),
    getElementById: () => null,
  };
  globalThis.CustomEvent = class {
    constructor(type, { detail }) {
      Object.assign(this, { type, detail });
    }
  };
  globalThis.window = { removeEventListener() {} };
  globalThis.innerHeight = 1000;
});
afterEach(() =>
  NAMES.forEach((name) => {
    delete globalThis[name];
  }),
);

class Photos extends PhotoStore {
  taken = 0;

  leave() {
    this.shown = null;
  }

  async remember() {}

  async share(photo) {
    const before = this.shown;
    await turn();
    if (this.shown === before) this.leave();
    return { path: "/" + photo.name };
  }
}

const file = (name) => new File(["a"], name);

const MANIFEST = { model: { key: { name: "photos", untrained: false, image_size: null } }, files: {} };

/** A page that shows an example; `answers` are those of the page's own analyses, settled by the test. */
async function page({ model = "photos", awaited = false, digitsHere = false } = {}) {
  const [did, released] = [[], []];
  const learned = { model: false, error: null, opens: true };
  const answers = {}; // by the name of a photo: {done, failed}
  const value = {
    text: JSON.stringify({ ...MANIFEST, model: { key: { ...MANIFEST.model.key, name: model } } }),
  };
  const props = {
    value: awaited ? null : value,
    photos: true,
    weights: { photos: "a" },
    lent: "gradio_api/weights",
    digits: "mnist",
    digits_here: digitsHere,
  };
  const photos = new Photos();
  const head = { photos, taker: null };
  let host = null;
  const component = {
    element: {
      querySelector: (name) => (name === "[data-state=error]" ? null : {}),
      getBoundingClientRect: () => ({ top: 0 }),
    },
    props,
    server: {},
    files: {},
    load: null,
    trigger: (...event) => did.push(event),
    upload: async ({ name }) => ({ path: "/" + name }),
    watch: (_name, changed) => {
      component.changed = changed;
    },
  };
  const mount = (given) => {
    host = given;
    return {
      update: () => did.push(["update"]),
      askToOpen: ({ name }) => did.push(["askToOpen", name]),
      askConsent: ({ name }) => did.push(["askConsent", name]),
      release: () => released.push(photos.shown?.name),
      over: () => did.push(["over"]),
      learned: () => learned.model,
      give: async ({ name }) => {
        did.push(["give", name]);
        if (learned.error) throw learned.error;
        return learned.opens;
      },
      analyse: (template, { name }) =>
        new Promise((done, failed) => {
          answers[name] = { done, failed, template };
        }),
      destroy() {},
    };
  };
  open(
    /** @type {any} */ ({ mount, learnedHere: () => ({ en: "No server has this model." }) }),
    /** @type {any} */ (component),
    /** @type {any} */ (head),
    async () => ({}),
  );
  await turn();
  did.length = 0;
  return {
    did,
    released,
    answers,
    photos,
    head,
    host,
    component,
    learned,
    /** The server answers with the template of a model. */
    async come(name, size = null, others = {}) {
      const model = { key: { name, untrained: false, image_size: size }, ...others };
      component.props.value = { text: JSON.stringify({ ...MANIFEST, model }) };
      component.changed();
      await turn();
    },
    /** A photo is analysed in the page, and drawn. */
    async draws(name) {
      const taking = head.taker.take(file(name));
      await turn();
      answers[name].done(true);
      await taking;
    },
  };
}

test("a photo whose answer comes when an example is shown does not mark the page as its own", async () => {
  const { answers, photos, head, component } = await page();
  const taking = head.taker.take(file("a.jpg"));
  await turn();
  photos.leave(); // an example was chosen
  component.changed();
  answers["a.jpg"].done(true);
  assert.equal(await taking, true);
  assert.deepEqual([marks["data-vv-here"], photos.shown], [false, null]);
});

test("a photo goes to the model that has learned in this page, and what is no picture does not leave it", async () => {
  const { did, answers, head, learned } = await page();
  learned.model = true;
  assert.equal(await head.taker.take(file("cup.jpg")), true);
  learned.error = Object.assign(new Error("none"), { said: { en: "It is no picture." } });
  assert.equal(await head.taker.take(file("text.jpg")), true, "nothing is uploaded");
  assert.deepEqual(did, [
    ["give", "cup.jpg"],
    ["give", "text.jpg"],
  ]);
  assert.deepEqual(Object.keys(answers), []);
});

test("a file that a model of this page cannot open is not sent: no server has that model", async () => {
  for (const model of ["photos", "vit_base"]) {
    const { did, head, learned } = await page({ model });
    Object.assign(learned, { model: true, opens: false });
    said.length = 0;
    assert.equal(await head.taker.take(file("scan.tiff")), true, model);
    assert.deepEqual([did, said], [[["give", "scan.tiff"]], [{ en: "No server has this model." }]]);
  }
});

test("a photo that stays does not wait for the analysis that Back led to", async () => {
  const { released, answers, head } = await page();
  const taking = head.taker.take(file("a.jpg"));
  await turn();
  assert.deepEqual(released, ["a.jpg"]);
  answers["a.jpg"].done(true);
  await taking;
  assert.deepEqual(released, ["a.jpg"]);
});

test("a photo that fails after another was taken leaves that one, and says nothing over it", async () => {
  const { answers, photos, head } = await page();
  const first = head.taker.take(file("a.jpg"));
  await turn();
  const second = head.taker.take(file("b.jpg"));
  await turn();
  answers["b.jpg"].done(true);
  await second;
  answers["a.jpg"].failed(NO_PICTURE());
  assert.equal(await first, true);
  assert.deepEqual([photos.shown.name, said], ["b.jpg", [null]]);
});

test("what is no picture leaves the photo that is drawn, and not one that never was", async () => {
  const { answers, photos, head } = await page();
  const drawn = head.taker.take(file("a.jpg"));
  await turn();
  answers["a.jpg"].done(true);
  await drawn;
  head.taker.take(file("slow.jpg")); // never comes
  await turn();
  const taking = head.taker.take(file("none.jpg"));
  await turn();
  answers["none.jpg"].failed(NO_PICTURE());
  await taking;
  assert.deepEqual([photos.shown.name, said.at(-1).en], ["a.jpg", "It is no picture."]);
});

test("light and dark of a photo whose model the page cannot run: it stays, and the visitor is asked", async () => {
  const { did, photos, host, draws, come } = await page();
  await draws("a.jpg");
  await come("vit_tiny");
  did.length = 0;
  await host.look({ inverted: true, stretched: false });
  assert.deepEqual([photos.shown.name, did], ["a.jpg", [["askConsent", "a.jpg"]]]);
  await host.share(photos.shown);
  assert.deepEqual(did.at(-1), ["photo", { path: "/a.jpg", inverted: true, stretched: false }]);
  photos.leave();
  await come("vit_tiny");
  await host.look({ inverted: false, stretched: true });
  assert.deepEqual(did.at(-1), ["look", { inverted: false, stretched: true }]);
});

test("a frame of the camera for a model of the server is asked about, and the photo before it stays", async () => {
  const { did, answers, photos, host, draws, come } = await page();
  const frame = new Blob(["a"], { type: "image/png" });
  const keeping = host.take(frame, "first.png");
  await turn();
  answers["first.png"].done(true);
  await keeping;
  assert.deepEqual([photos.shown.name, did], ["first.png", []], "the page has its model");
  await draws("a.jpg");
  await come("vit_base");
  did.length = 0;
  await host.take(frame, "webcam.png");
  assert.deepEqual([photos.shown.name, did], ["a.jpg", [["askToOpen", "webcam.png"]]]);
});

test("light and dark are of the picture that is drawn, also when another one was refused", async () => {
  const { did, answers, photos, host, draws, come } = await page();
  await draws("a.jpg");
  photos.leave(); // an example was chosen, which the server refuses
  const looking = host.look({ inverted: false, stretched: true });
  await turn();
  answers["a.jpg"].done(true);
  await looking;
  assert.deepEqual([photos.shown.name, photos.shown.stretched, did], ["a.jpg", true, []]);
  photos.leave();
  await come("photos"); // an example
  photos.shown = photos.create({ file: file("a.jpg"), name: "a.jpg" }); // Back to the photo, which is refused
  did.length = 0;
  await host.look({ inverted: true, stretched: false });
  host.resize("144");
  assert.deepEqual(did, [
    ["look", { inverted: true, stretched: false }],
    ["resize", "144"],
  ]);
});

test("the server's file is not offered while a model is shown that has learned in this page", async () => {
  const { host, draws, come } = await page();
  const offered = [];
  const shows = (name) => {
    host.adopted(name);
    offered.push(marks["data-vv-here"]);
  };
  await come("photos");
  shows("cup, pen");
  shows("");
  await draws("a.jpg");
  shows("cup, pen");
  shows("");
  assert.deepEqual(offered, [true, false, true, true]);
});

test("a photo behind a model that has learned in this page is not asked about: another picture is shown", async () => {
  const { did, photos, learned, draws, come } = await page();
  await draws("a.jpg");
  learned.model = true;
  did.length = 0;
  await come("vit_base");
  assert.deepEqual([did, photos.shown], [[["update"]], null]);
});

test("the untrained twin of a model has no weights in this page", async () => {
  const { host, component } = await page();
  const weights = [];
  for (const untrained of [true, false]) {
    const manifest = { model: { key: { name: "photos", untrained, image_size: null } }, files: {} };
    component.server.beside = async () => ({ manifest });
    weights.push((await host.beside("untrained", "id")).model.weights);
  }
  assert.deepEqual(weights, [undefined, "https://host/a"]);
});

test("a photo is sent for what it was asked for, whatever is shown meanwhile", async () => {
  const { did, photos, host, component, draws, come } = await page();
  await draws("a.jpg");
  await come("vit_base");
  host.resize("144");
  const sending = host.share(photos.shown);
  photos.leave();
  component.changed();
  await sending;
  assert.deepEqual(did.at(-1), ["photo", { path: "/a.jpg", size: "144" }]);
});

test("a photo that stays is shown in another size, and in a larger model, by their weights", async () => {
  const { did, answers, host, draws, come } = await page();
  await draws("a.jpg");
  host.resize("144");
  assert.deepEqual(did, [["resize", "144"]]);
  const shown = [];
  for (const [name, size, others, address] of [
    ["photos", null, {}, "https://host/a"],
    [
      "photos",
      [144, 192],
      { in_page: "photos" },
      "https://host/gradio_api/weights?model=photos&size=144x192",
    ],
    ["a/b?", null, { in_page: "a/b?" }, "https://host/gradio_api/weights?model=a%2Fb%3F"],
    ["mine.pth", null, { in_page: "mine" }, "https://host/gradio_api/weights?model=mine"],
    ["large", null, { in_page: null }, undefined],
  ]) {
    delete answers["a.jpg"];
    await come(name, size, others);
    shown.push([Boolean(answers["a.jpg"]), answers["a.jpg"]?.template.model.weights === address]);
  }
  assert.deepEqual(shown, [
    [true, true],
    [true, true],
    [true, true],
    [true, true],
    [false, true],
  ]);
});

test("a drawing waits for the first answer of the server, also for one that shows nothing", async () => {
  const { did, host, component } = await page({ awaited: true });
  const drawing = host.draw(new Blob(["a"]), "drawing-1.png", true);
  await turn();
  assert.deepEqual(did, []);
  component.props.value = { text: "" };
  component.changed();
  await drawing;
  assert.deepEqual(did.at(-1), ["photo", { path: "/drawing-1.png", name: "drawing-1.png", first: true }]);
});

test("the first drawing of a page waits for the model of digits, and stays, where the page can have it", async () => {
  const { did, photos, host } = await page({ digitsHere: true });
  await host.draw(new Blob(["a"]), "drawing-1.png", true);
  assert.deepEqual([did, photos.shown.name], [[["photo", { first: true }]], "drawing-1.png"]);
});

test("a photo that was sent does not take the place of one that was opened meanwhile", async () => {
  const { did, photos, host, draws } = await page();
  await draws("a.jpg");
  did.length = 0;
  const sending = host.share(photos.shown);
  await draws("b.jpg");
  assert.ok(await sending, "it was sent");
  assert.deepEqual([photos.shown.name, did], ["b.jpg", [["over"]]]); // nobody waits for it any more
});

test("a drawing for the model of digits stays, too, while a photo is sent", async () => {
  const { did, photos, host, draws } = await page();
  await draws("a.jpg");
  const sending = host.share(photos.shown);
  await host.draw(new Blob(["a"]), "seven.png", true);
  did.length = 0;
  await sending;
  assert.deepEqual(did, [["over"]]);
});
