/**
 * The viewer comes as a file: what waits for it, what is kept until then, and what is said where it does not
 * come.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, test } from "node:test";
import { compileFunction } from "node:vm";

import { open } from "../../vitviz/viewer/hosts/gradio.js";
import { load } from "../../vitviz/viewer/hosts/load.js";
import { PhotoStore } from "../../vitviz/viewer/state/photos.js";

const GLUE = readFileSync(new URL("../../vitviz/web/page/component.js", import.meta.url), "utf8");
const NAMES = ["document", "customElements", "location", "innerHeight", "window"];
const turn = () =>
  new Promise((done) => {
    setTimeout(done, 0);
  });

let head = [];
let heard = {};
let reloads = 0;
beforeEach(() => {
  head = [];
  heard = {};
  reloads = 0;
  globalThis.document = {
    baseURI: "https://host/vitviz/",
    documentElement: { lang: "en", toggleAttribute() {} },
    head: { append: (node) => head.push(node) },
    createElement: (tag) => ({
      tag,
      remove() {
        head = head.filter((node) => node !== this);
      },
    }),
    addEventListener: (type, listener) => {
      (heard[type] ??= new Set()).add(listener);
    },
    removeEventListener: (type, listener) => heard[type].delete(listener),
  };
  globalThis.customElements = { get: () => true };
  globalThis.location = {
    reload: () => {
      reloads += 1;
    },
  };
  globalThis.innerHeight = 1000;
  globalThis.window = { removeEventListener() {} };
});
afterEach(() =>
  NAMES.forEach((name) => {
    delete globalThis[name];
  }),
);

test("each of two that load at once gets the viewer of its own file, and no element stays", async () => {
  const [one, two] = [load("/a.js"), load("/a.js")];
  assert.deepEqual(
    head.map(({ tag, src }) => [tag, src]),
    [
      ["script", "/a.js"],
      ["script", "/a.js"],
    ],
  );
  const [first, second] = head;
  second.viewer = { name: "second" };
  second.onload();
  first.viewer = { name: "first" };
  first.onload();
  assert.deepEqual([await one, await two], [{ name: "first" }, { name: "second" }]);
  assert.deepEqual(head, []);
});

test("a file that does not come, or is another page, is an error", async () => {
  const [missing, other] = [load("/a.js"), load("/b.js")];
  const [first, second] = head;
  first.onerror();
  second.onload(); // it was a script, and left no viewer
  await assert.rejects(missing, /no file at \/a\.js/);
  await assert.rejects(other, /no viewer in \/b\.js/);
  assert.deepEqual(head, []);
});

class TestPhotos extends PhotoStore {
  leave() {
    this.shown = null;
  }
}

const MODEL = { key: { name: "photos", untrained: false, image_size: null } };

/** component.js as Gradio runs it, with a file that comes when the test says so. */
function component(value = null, languages = ["en-US"]) {
  const did = [];
  const nodes = {
    ".vv-place": {},
    ".vv-no-texts": { hidden: true },
    ".vv-absent": { hidden: true, button: {} },
    "vv-life": {},
  };
  nodes[".vv-absent"].querySelector = () => nodes[".vv-absent"].button;
  const element = { querySelector: (name) => nodes[name], getBoundingClientRect: () => ({ top: 0 }) };
  const props = {
    value: value && {
      text: JSON.stringify({ id: value, files: {}, model: MODEL }),
      picture: { url: "/file=/a" },
    },
  };
  const watched = [];
  const page = { photos: new TestPhotos(), taker: null };
  const file = {};
  const coming = (address) => new Promise((done, failed) => Object.assign(file, { address, done, failed }));
  let host = null;
  const mounted = {
    prepare: async (tag, texts) =>
      tag !== "ko" ||
      texts(tag).then(
        () => true,
        () => false,
      ),
    mount: (given) => {
      did.push("mount");
      host = given;
      return {
        update: ({ id }) => did.push("update " + id),
        openLessons: () => did.push("lessons"),
        openDrawing: () => did.push("drawing"),
        destroy: () => did.push("destroy"),
      };
    },
  };
  const viewer = {
    async start(given, page, texts) {
      if (!(await mounted.prepare(globalThis.document.documentElement.lang, texts)))
        globalThis.document.documentElement.lang = "en";
      return () => open(mounted, given, page, texts);
    },
  };
  const files = {
    viewer: { en: "gradio_api/v.js", ko: "gradio_api/w.js" },
    texts: { ko: "gradio_api/ko.js" },
  };
  const code = GLUE.replace("__LOAD__", "coming").replace("__FILES__", JSON.stringify(files));
  compileFunction(code, [
    "element",
    "props",
    "server",
    "trigger",
    "upload",
    "watch",
    "coming",
    "window",
    "navigator",
  ])(
    element,
    props,
    {},
    (...event) => did.push(event.join(" ")),
    null,
    (name, listener) => watched.push([name, listener]),
    coming,
    { vitviz: page },
    { languages },
  );
  const set = (id) => {
    props.value = { ...props.value, text: JSON.stringify({ id, files: {}, model: MODEL }) };
    watched.forEach(([, listener]) => listener());
  };
  return { did, file, viewer, set, nodes, watched, page, props, host: () => host };
}
const press = (type) => heard[type].forEach((listener) => listener({ type }));

test("what came before the file is shown with it: the newest answer, once, and the button pressed last", async () => {
  const { did, file, viewer, set, watched } = component("a");
  assert.equal(file.address, "https://host/vitviz/gradio_api/v.js"); // also below a path of a proxy
  press("vitviz-lessons");
  press("vitviz-draw");
  set("b");
  assert.deepEqual(did, []);
  file.done(viewer);
  await turn();
  assert.deepEqual(did, ["mount", "update b", "drawing"]);
  set("c");
  press("vitviz-lessons");
  assert.deepEqual(did.slice(3), ["update c", "lessons"]);
  assert.deepEqual(
    watched.map(([name]) => name),
    ["value"],
  );
});

test("the file of the viewer is that with the texts which the browser prefers, as the server names it", () => {
  const named = (search, ...languages) => {
    globalThis.location.search = search;
    return component(null, languages).file.address.split("/").pop();
  };
  assert.equal(named("", "ko-KR", "en-US"), "w.js");
  assert.equal(named("", "fr-FR", "ko"), "w.js");
  assert.equal(named("?model=photos&lang=ko", "en-US"), "w.js");
  assert.equal(named("?lang=en", "ko"), "v.js");
  assert.equal(named("?lang=constructor", "fr"), "v.js");
});

test("an answer after the file is shown as it comes", async () => {
  const { did, file, viewer, set } = component();
  file.done(viewer);
  await turn();
  assert.deepEqual(did, ["mount"]);
  set("a");
  assert.deepEqual(did, ["mount", "update a"]);
});

test("a component that is gone before its file mounts nothing and hears nothing", async () => {
  const { did, file, viewer, nodes, watched } = component("a");
  nodes["vv-life"].ended();
  file.done(viewer);
  await turn();
  assert.deepEqual([did, watched, Object.values(heard).filter(({ size }) => size > 0)], [[], [], []]);
});

test("a component that goes later takes its viewer with it", async () => {
  const { did, file, viewer, nodes } = component("a");
  file.done(viewer);
  await turn();
  nodes["vv-life"].ended();
  assert.equal(did.at(-1), "destroy");
  assert.ok(Object.values(heard).every(({ size }) => size === 0));
});

test("the texts of the language of the page come before the viewer is mounted", async () => {
  globalThis.document.documentElement.lang = "ko";
  const { did, file, viewer } = component();
  file.done(viewer);
  await turn();
  assert.deepEqual([file.address, did], ["https://host/vitviz/gradio_api/ko.js", []]);
  file.done({ STRINGS: {} });
  await turn();
  assert.deepEqual([did, globalThis.document.documentElement.lang], [["mount"], "ko"]);
});

test("texts that do not come are said, until others do; a page that begins without them is English", async () => {
  globalThis.document.documentElement.lang = "ko";
  const { did, file, viewer, nodes, host } = component();
  file.done(viewer);
  await turn();
  file.failed(new Error("offline"));
  await turn();
  assert.deepEqual(
    [did, globalThis.document.documentElement.lang, nodes[".vv-no-texts"].hidden],
    [["mount"], "en", false],
  );
  const again = host().texts("ko");
  assert.equal(nodes[".vv-no-texts"].hidden, true);
  file.done({ STRINGS: { answer: "답" } });
  assert.deepEqual(await again, { STRINGS: { answer: "답" } });
  assert.equal(nodes[".vv-no-texts"].hidden, true);
});

test("where the file does not come the page says so, and tries again when it is told to", async () => {
  const { did, file, nodes } = component("a");
  assert.equal(nodes[".vv-absent"].hidden, true);
  file.failed(new Error("no file"));
  await turn();
  assert.deepEqual([nodes[".vv-absent"].hidden, did, reloads], [false, [], 0]);
  nodes[".vv-absent"].button.onclick();
  assert.equal(reloads, 1);
});
