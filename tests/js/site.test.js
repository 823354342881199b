/** The host of a page without a server: what is pressed before the viewer has come, and what cannot be shown. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { open } from "../../vitviz/viewer/hosts/site.js";

const NAMES = ["document", "window", "location", "history", "matchMedia", "MutationObserver", "localStorage"];
const TEXTS = [
  "title photo film draw play again examples model theme stays film_title coming lost unopened model_lost served only",
  "nothing_pasted kept forget",
].flatMap((words) => words.split(" "));

class Node {
  constructor() {
    const classes = new Set();
    Object.assign(this, { attributes: {}, listeners: {}, dataset: {}, children: [], hidden: false });
    this.classList = {
      add: (...names) => names.forEach((name) => classes.add(name)),
      contains: (name) => classes.has(name),
      toggle: (name, on) => (on ? classes.add(name) : classes.delete(name)),
    };
  }

  addEventListener(type, hear) {
    this.listeners[type] = hear;
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  toggleAttribute() {}

  remove() {}

  append(...children) {
    this.children.push(...children);
  }

  replaceChildren(...children) {
    this.children = children;
  }
}

let page = /** @type {any} */ (null);
beforeEach(() => {
  mock.method(globalThis, "setInterval", () => 0); // photos are stored again and again: Node would not end
  page = { listeners: {}, documentElement: new Node(), baseURI: "https://host/" };
  const address = "https://host/page";
  Object.assign(globalThis, {
    document: {
      ...page,
      createElement: () => new Node(),
      querySelectorAll: () => [],
      addEventListener: (type, hear) => {
        page.listeners[type] = hear;
      },
    },
    window: { addEventListener() {} },
    location: { href: address, protocol: "https:" },
    history: { state: null },
    matchMedia: () => ({ matches: false }),
    MutationObserver: class {
      observe() {}
    },
  });
  globalThis.window.parent = globalThis.window; // no frame
});
afterEach(() => {
  mock.restoreAll();
  for (const name of NAMES) delete globalThis[name];
});

const rest = () => new Promise((done) => setTimeout(done, 0));

const example = (key) => ({
  names: { en: key },
  thumbnail: "",
  photo: key + ".photo",
  file: key + ".jpg",
  model: null,
  shown: true,
});
const SITE = {
  models: {
    photos: {
      title: "Photos",
      names: {},
      channels: 3,
      path: "photos.js",
      examples: { dog: "dog.js", cat: "cat.js" },
      weights: { path: "w", script: "" },
      twin: null,
    },
  },
  examples: { dog: example("dog"), cat: example("cat") },
  start: { model: "photos", example: "dog" },
  language: null,
  languages: {},
  running: "",
  playing: "",
  digits: {},
  links: true,
  texts: { en: Object.fromEntries(TEXTS.map((key) => [key, key])) },
};

/**
 * A site whose viewer comes when the test says so; `lost`: files that cannot be had; `prepare`: fetches texts, as the
 * viewer does.
 */
function opened(
  lost = [],
  prepare = /** @type {any} */ (async () => true),
  site = /** @type {any} */ (SITE),
) {
  const [did, released] = [/** @type {any[]} */ ([]), /** @type {number[]} */ ([])];
  const strip = new Node();
  const [come, host] = [{}, { given: /** @type {any} */ (null), learned: false }];
  const viewer = {
    firstLanguage: () => "en",
    prepare,
    mount(given) {
      host.given = given;
      const heard =
        (name) =>
        (/** @type {any[]} */ ...values) =>
          did.push([name, ...values]);
      return {
        update: ({ file }) => did.push(["update", file]),
        over: heard("over"),
        release: () => released.push(did.length),
        openDrawing: heard("draw"),
        openCamera: heard("camera"),
        openPlayground: heard("play"),
        learned: () => host.learned,
        give: async ({ name }) => did.push(["give", name]) > 0,
        async analyse({ file }, { name }) {
          did.push(["analyse", file, name]);
          if (name === "text.jpg")
            throw Object.assign(new Error("none"), { said: { en: "It is no picture." } });
          return name !== "odd.jpg";
        },
      };
    },
  };
  const read = (path) =>
    path === "viewer.js"
      ? new Promise((resolve, reject) => Object.assign(come, { resolve: () => resolve(viewer), reject }))
      : lost.includes(path)
        ? Promise.reject(new Error("no file at " + path))
        : Promise.resolve({ file: path, pass: { id: path } });
  const opening = open(/** @type {any} */ ({ element: null, strip, site, viewer: "viewer.js", read }));
  const nodes = strip.children.flatMap((node) => [node, ...(node.children ?? [])]);
  const button = (text) => nodes.find(({ textContent }) => textContent === text);
  return {
    did,
    released,
    host,
    opening,
    come: /** @type {any} */ (come),
    press: (text) => button(text).listeners.click(),
    menu: () => strip.children.find((one) => one.attributes?.class === "vv-bar-model"),
    pressed: (text) => button(text).attributes["aria-pressed"],
    note: () => strip.children[strip.children.length - 1].children[0].textContent,
    paste: (...names) =>
      page.listeners.paste({
        target: {},
        clipboardData: { files: names.map((name) => new File(["a"], name, { type: "image/jpeg" })) },
      }),
  };
}

test("a site opens with the picture of its address", async () => {
  const { did, come, opening, pressed } = opened();
  assert.equal(pressed("dog"), "true", "the row tells what is coming");
  come.resolve();
  await opening;
  assert.deepEqual(did, [["update", "dog.js"]]);
});

test("what stands beside an analysis is in its model, whatever is shown by then", async () => {
  const digits = { ...SITE.models.photos, path: "digits.js", examples: { dog: "grey-dog.js" } };
  const models = { ...SITE.models, digits };
  const { did, come, host, opening, menu } = opened([], undefined, { ...SITE, models });
  come.resolve();
  await opening;
  menu().value = "digits";
  menu().listeners.change();
  await rest();
  assert.deepEqual(did.at(-1), ["update", "grey-dog.js"]);
  assert.equal((await host.given.beside("example-cat", "dog.js")).file, "cat.js");
  assert.equal((await host.given.beside("example-dog", "grey-dog.js")).file, "grey-dog.js");
});

test("a site for a web server alone says so where nobody serves it", async () => {
  globalThis.location = /** @type {any} */ ({
    href: "file:///site/index.html",
    protocol: "file:",
    hash: "",
    search: "",
  });
  const { did, come, opening, note } = opened();
  come.resolve();
  await opening;
  assert.deepEqual([did, note()], [[["update", "dog.js"]], "served"]);
});

test("no example is marked while a model of the playground is shown", async () => {
  const { did, come, host, opening, press, pressed, menu } = opened();
  come.resolve();
  await opening;
  host.given.adopted("cup, pen");
  assert.deepEqual([pressed("dog"), pressed("cat")], ["false", "false"]);
  const selected = menu().children.filter((one) => one.selected);
  assert.deepEqual(
    selected.map((one) => one.textContent),
    ["cup, pen"],
  );
  host.given.adopted(""); // Back
  assert.deepEqual([pressed("dog"), pressed("cat")], ["true", "false"]);
  host.given.adopted("cup, pen");
  await press("dog");
  assert.deepEqual([pressed("dog"), did.at(-1)], ["true", ["update", "dog.js"]]);
});

test("a photo goes to the model that has learned in this page while that is shown", async () => {
  const { did, come, host, opening, paste } = opened();
  come.resolve();
  await opening;
  host.learned = true;
  host.given.adopted("cup, pen");
  did.length = 0;
  paste("cup.jpg");
  await rest();
  assert.deepEqual(did, [["give", "cup.jpg"]]);
  host.learned = false;
  paste("dog.jpg");
  await rest();
  await rest();
  assert.deepEqual(did[1].slice(0, 1).concat(did[1][2]), ["analyse", "dog.jpg"]);
});

test("a photo goes to the model that was chosen last, though it is not here yet", async () => {
  const digits = { ...SITE.models.photos, title: "Digits", channels: 1, path: "digits.js" };
  const files = { dog: "dog-digits.js", cat: "cat-digits.js" };
  const models = { ...SITE.models, digits: { ...digits, examples: files } };
  const { did, come, opening, menu, paste } = opened([], undefined, { ...SITE, models });
  come.resolve();
  await opening;
  did.length = 0;
  menu().value = "digits";
  menu().listeners.change();
  paste("mine.jpg");
  await rest();
  await rest();
  assert.deepEqual(did, [["analyse", "dog-digits.js", "mine.jpg"]]);
});

test("what is chosen before the viewer has come is shown, the last one", async () => {
  const { did, come, opening, press, pressed } = opened();
  press("cat");
  assert.equal(pressed("cat"), "true");
  press("dog");
  press("cat");
  await rest();
  come.resolve();
  await opening;
  await rest();
  assert.deepEqual(did, [["update", "cat.js"]]);
});

test("a photo that is pasted before the viewer has come is analysed", async () => {
  const { did, come, opening, paste } = opened();
  paste("mine.jpg");
  await rest();
  come.resolve();
  await opening;
  await rest();
  assert.deepEqual(did, [["analyse", "dog.js", "mine.jpg"]]);
});

test("a photo that is none, and comes first, is told above the picture of the address", async () => {
  const { did, come, opening, paste, note } = opened();
  paste("text.jpg");
  await rest();
  come.resolve();
  await opening;
  await rest();
  assert.deepEqual(did, [["analyse", "dog.js", "text.jpg"], ["over"], ["update", "dog.js"]]);
  assert.equal(note(), "It is no picture.");
});

test("a tool that is wanted before the viewer has come opens with it", async () => {
  for (const [text, name] of [
    ["film", "camera"],
    ["play", "play"],
  ]) {
    const { did, come, opening, press } = opened();
    press(text);
    await rest();
    come.resolve();
    await opening;
    assert.ok(
      did.some(([one]) => one === name),
      text,
    );
  }
});

test("a viewer that does not come is told, and again to whoever goes on pressing", async () => {
  const { come, opening, press, note } = opened();
  const waiting = press("film");
  come.reject(new Error("gone"));
  await assert.rejects(opening, /gone/);
  await assert.rejects(waiting, /gone/);
  assert.equal(note(), "lost");
  await assert.rejects(press("cat"), /gone/);
  assert.equal(note(), "lost");
});

test("texts that do not come are told, and the viewer hears of it", async () => {
  const { come, host, opening, note } = opened(["ko.js"]);
  SITE.languages.ko = "ko.js";
  come.resolve();
  await opening;
  await assert.rejects(host.given.texts("ko"));
  delete SITE.languages.ko;
  assert.equal(note(), "lost");
});

test("that the language of the visitor did not come is told beside the first picture", async () => {
  SITE.languages.ko = "ko.js";
  const { did, come, opening, note } = opened(["ko.js"], (_language, texts) =>
    texts("ko").then(
      () => true,
      () => false,
    ),
  );
  come.resolve();
  await opening;
  delete SITE.languages.ko;
  assert.deepEqual([did, note()], [[["update", "dog.js"]], "lost"]);
});

test("what cannot be shown is over: the address is that of the picture that stays", async () => {
  const { did, come, host, opening, press, note } = opened(["cat.js"]);
  come.resolve();
  await opening;
  for (const [fails, says] of [
    [() => assert.rejects(press("cat")), "lost"],
    [() => host.given.take(new File(["a"], "a"), "odd.jpg"), "unopened"],
    [() => host.given.take(new File(["a"], "a"), "text.jpg"), "It is no picture."],
  ]) {
    did.length = 0;
    await fails();
    assert.deepEqual([note(), did.filter(([name]) => name === "over").length], [says, 1]);
  }
  did.length = 0;
  await press("dog");
  assert.deepEqual(did, [["update", "dog.js"]], "an analysis that comes ends the waiting itself");
});

test("weights that come leave a sentence about something else", async () => {
  mock.method(globalThis, "fetch", async () => new globalThis.Response(new Uint8Array(8)));
  const { come, host, opening, note, paste } = opened();
  come.resolve();
  await opening;
  const during = /** @type {string[]} */ ([]);
  const fetched = () => host.given.fetchWeights(SITE.models.photos.weights, () => during.push(note()));
  await fetched();
  assert.deepEqual([during[0], note()], ["coming", ""]);
  paste("odd.jpg");
  await rest();
  assert.equal(note(), "unopened");
  await fetched();
  assert.deepEqual([during.at(-1), note()], ["unopened", "unopened"]);
});

test("what is chosen while Back waits for another picture is written into the address at once", async () => {
  const { did, released, come, host, opening, press } = opened();
  come.resolve();
  await opening;
  did.length = released.length = 0;
  host.given.reopen();
  await press("cat"); // before the picture of the address has come
  assert.deepEqual(did, [["update", "cat.js"]]);
  assert.deepEqual(released, [0], "ahead of what is shown");
  await host.given.reopen();
  assert.deepEqual(released, [0]);
  await host.given.take(new File(["a"], "a"), "mine.jpg");
  assert.deepEqual(released, [0, 2]);
});

test("a photo is shown to a model that has other examples than the one before", async () => {
  const square = { ...SITE.models.photos, examples: { square: "square.js" } };
  const site = {
    ...SITE,
    models: { ...SITE.models, square },
    examples: { ...SITE.examples, square: { ...example("square"), model: "square", shown: false } },
  };
  const { did, come, opening, menu, paste } = opened([], undefined, site);
  come.resolve();
  await opening;
  paste("mine.jpg");
  for (let turn = 0; turn < 5; turn++) await rest();
  menu().value = "square";
  menu().listeners.change();
  for (let turn = 0; turn < 5; turn++) await rest();
  assert.deepEqual(did.at(-1), ["analyse", "square.js", "mine.jpg"]);
});

test("a page of one file leads nowhere; a page of files keeps a lesson of one's own behind the #", async () => {
  const place = "file:///site/index.html";
  const visit = async (search, hash, links) => {
    globalThis.location = /** @type {any} */ ({
      href: place + search + hash,
      protocol: "file:",
      hash,
      search,
    });
    globalThis.history = /** @type {any} */ ({
      state: null,
      replaceState: (_view, _title, href) => Object.assign(globalThis.location, { hash: href }),
    });
    const { come, opening, host } = opened([], undefined, { ...SITE, links });
    come.resolve();
    await opening;
    return host.given;
  };
  assert.equal((await visit("", "", false)).go, undefined);
  const { address, go } = await visit("?model=photos&lesson=own&step=1", "#own=abc", true);
  assert.equal(typeof go, "function");
  const link = place + "?model=photos&lesson=own&step=1#own=abc";
  assert.equal(address.read(), link);
  address.write(link, null, false);
  assert.equal(globalThis.location.hash, "#model=photos&lesson=own&step=1&own=abc");
  assert.equal(address.read(), link);
  address.write(place + "?model=photos", null, false);
  assert.deepEqual([globalThis.location.hash, address.read()], ["#model=photos", place + "?model=photos"]);
});
