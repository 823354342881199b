/** A visitor's own things: what is pressed twice runs once, and an engine that fails leaves no answer standing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOwn } from "../../vitviz/viewer/play/own.js";
import { createCheat } from "../../vitviz/viewer/play/owncheat.js";
import { createOwnLive } from "../../vitviz/viewer/play/ownlive.js";
import { createTrunks } from "../../vitviz/viewer/play/owntrunks.js";
import { textsIn } from "../../vitviz/viewer/play/texts.js";
import { openPage, settled } from "./page.js";

const image = { height: 4, width: 4, channels: 3 };
const say = textsIn("en");
const template = { model: { image, grid: { rows: 2, cols: 2 } } };

/** The failures that a page leaves to its console; without this they are those of the test. */
function heardOf(context) {
  const kept = process.listeners("unhandledRejection");
  const failures = /** @type {string[]} */ ([]);
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (/** @type {any} */ error) => failures.push(error.message));
  context.after(() => {
    process.removeAllListeners("unhandledRejection");
    for (const hear of kept) process.on("unhandledRejection", hear);
  });
  return failures;
}

/** A camera that films one colour. */
function filming(context) {
  const create = globalThis.document.createElement;
  Object.assign(globalThis.document, {
    createElement(tag) {
      const node = /** @type {any} */ (create(tag));
      if (tag === "video")
        Object.assign(node, {
          play: async () => {},
          videoWidth: 4,
          videoHeight: 4,
          readyState: 2,
          HAVE_CURRENT_DATA: 2,
        });
      if (tag === "canvas")
        node.getContext = () => ({
          drawImage() {},
          putImageData() {},
          getImageData: () => ({ data: new Uint8ClampedArray(64), width: 4, height: 4 }),
        });
      return node;
    },
  });
  const track = { stop() {}, addEventListener() {}, getSettings: () => ({}) };
  const stream = { getTracks: () => [track], getVideoTracks: () => [track] };
  Object.defineProperty(globalThis, "navigator", {
    configurable: true,
    value: { mediaDevices: { getUserMedia: async () => stream, enumerateDevices: async () => [] } },
  });
  context.after(() => delete (/** @type {any} */ (globalThis).navigator));
}

test("where the engine fails the camera goes off, the answer goes, and the page says why", async (context) => {
  const { body, button } = openPage(context);
  filming(context);
  const failures = heardOf(context);
  const found = { things: [{ name: "cup" }, { name: "pen" }], threshold: null, none: undefined };
  let answers = 0;
  const model = {
    found: () => found,
    async answer() {
      answers += 1;
      if (answers > 1) throw new Error("the engine is gone");
      return { shares: [0.9, 0.1], of: found };
    },
  };
  const live = createOwnLive(
    /** @type {any} */ ({
      trunk: {
        template,
        known: {
          facts: {
            preprocess: {
              size: [4, 4],
              channels: 3,
              interpolation: "bilinear",
              crop_pct: 1,
              mean: [0, 0, 0],
            },
          },
        },
        tools: { said: ({ key }) => ({ en: key }) },
      },
      model,
      nameOf: ({ name }) => name,
      changed() {},
    }),
  );
  body.append(live.build(say, "en", () => {}));
  button(say("ownCamera")).click();
  while (failures.length === 0) await settled();
  assert.deepEqual([failures, live.isOn()], [["the engine is gone"], false]);
  assert.equal(body.querySelector(".vv-own-word").textContent, "");
  assert.ok(body.textContent.includes(say("ownFailed", { why: "the engine is gone" })));
});

test("when the camera goes off, the answer to its last frame goes, and the picture has its own", async (context) => {
  const { body, button } = openPage(context);
  filming(context);
  const found = { things: [{ name: "cup" }, { name: "pen" }], threshold: null, none: undefined };
  const model = {
    found: () => found,
    answer: async (_pixels, films) => ({ shares: films ? [0.9, 0.1] : [0.1, 0.9], of: found }),
  };
  const preprocess = { size: [4, 4], channels: 3, interpolation: "bilinear", crop_pct: 1, mean: [0, 0, 0] };
  const live = createOwnLive(
    /** @type {any} */ ({
      trunk: { template, known: { facts: { preprocess } }, tools: { said: ({ key }) => ({ en: key }) } },
      model,
      nameOf: ({ name }) => name,
      changed() {},
    }),
  );
  body.append(live.build(say, "en", () => {}));
  const word = () => body.querySelector(".vv-own-word").textContent;
  live.try({ pixels: new Uint8Array(48), file: null });
  await settled();
  assert.equal(word(), "pen");
  button(say("ownCamera")).click();
  while (word() !== "cup") await settled();
  live.off();
  assert.equal(word(), "");
  await settled();
  assert.equal(word(), "pen");
});

test("the test of halves runs once, however often it is pressed", async (context) => {
  const { body, button } = openPage(context);
  let [runs, done] = [0, /** @type {(found: any) => void} */ (() => {})];
  const model = {
    halves() {
      runs += 1;
      return new Promise((resolve) => {
        done = resolve;
      });
    },
  };
  const of = /** @type {any} */ ({ trunk: { template }, model, say, nameOf: ({ name }) => name });
  const cheat = createCheat(of);
  body.append(cheat.root);
  const found = /** @type {any} */ ({ count: [1, 1] });
  cheat.render(found);
  const press = button(say("ownCheat"));
  press.click();
  press.click();
  assert.equal(runs, 1);
  done([{ thing: { name: "cup" }, right: 4, withoutMiddle: 1, withoutRim: 4, pictures: [] }]);
  await settled();
  const said = cheat.root.querySelector("[role=listitem]").textContent;
  assert.ok(said.includes("cup"));
  press.click();
  assert.equal(runs, 2);
  // The page is made anew whenever it is opened: what was counted stands there still.
  const again = createCheat(of);
  again.render(found);
  assert.equal(again.root.querySelector("[role=listitem]").textContent, said);
  again.render(/** @type {any} */ ({ count: [1, 1] })); // other pictures
  assert.ok(again.root.querySelector("[role=list]").hidden);
});

test("the comparison of trunks runs once, however often it is pressed", async (context) => {
  const { body, button } = openPage(context);
  heardOf(context); // there is nothing to learn from
  let read = 0;
  const config = { image_size: 8, patch_size: 4, depth: 1, embed_dim: 16, num_heads: 1, num_classes: 2 };
  const known = {
    tensors: {},
    get described() {
      read += 1;
      return { config, preprocess: {} };
    },
  };
  const trunks = createTrunks(/** @type {any} */ ({ template, known }), say);
  body.append(trunks.root);
  trunks.render(/** @type {any} */ ({ count: [1, 1], pictures: [] }));
  const press = button(say("ownCompare"));
  press.click();
  const once = read;
  press.click();
  await settled(50);
  assert.equal(read, once);
});

test("every picture that is tried is told to screen readers, and none without a model", async (context) => {
  const { body } = openPage(context);
  const things = [{ name: "cup" }, { name: "pen" }];
  let found = /** @type {any} */ ({ things, threshold: null, none: undefined });
  const model = {
    found: () => found,
    answer: async ([first]) => found && { shares: first ? [0.9, 0.1] : [0.1, 0.9], of: found },
  };
  const live = createOwnLive(
    /** @type {any} */ ({
      trunk: { template, known: { facts: { preprocess: {} } }, tools: {} },
      model,
      nameOf: ({ name }) => name,
      changed() {},
    }),
  );
  body.append(live.build(say, "en", () => {}));
  const heard = () => body.querySelector(".vv-live").textContent;
  const told = [];
  for (const first of [1, 0, 0]) {
    live.try({ pixels: new Uint8Array(48).fill(first), file: null });
    told.push(heard()); // emptied, so that the same answer is heard anew
    await settled();
    told.push(heard());
  }
  assert.deepEqual(told, ["", "cup", "", "pen", "", "pen"]);
  found = null;
  live.again();
  assert.equal(heard(), "");
});

test("a thing that is taken away leaves the focus to the next one", async (context) => {
  const { body, button } = openPage(context);
  const failures = heardOf(context); // of the engine, which has no model
  Object.assign(globalThis, { sessionStorage: { getItem: () => null, removeItem() {} } });
  context.after(() => delete globalThis.sessionStorage);
  const named = { model: { ...template.model, title: "photos", words: {}, key: { name: "photos" } } };
  const trunk = {
    template: named,
    known: { described: { config: {}, preprocess: {} }, tensors: {}, facts: {} },
    tools: {},
  };
  const own = createOwn(
    /** @type {any} */ ({ trunk: async () => trunk, picture: async () => null, close() {} }),
  );
  body.append(own.root);
  own.build(say, "en");
  for (let wait = 0; wait < 400 && failures.length === 0; wait++) await settled();
  const gone = () => body.querySelectorAll("button").filter(({ textContent }) => textContent === "✕");
  button(say("ownMore")).click();
  const [first, second] = gone();
  first.focus();
  first.click();
  assert.deepEqual([gone().includes(first), globalThis.document.activeElement], [false, second]);
  const last = gone().at(-1);
  button(say("ownMore")).click();
  const lower = gone().at(-1);
  lower.focus();
  lower.click(); // there is no next one
  const focused = globalThis.document.activeElement;
  assert.ok(last.parentElement.contains(focused) && !focused.hidden && focused.tag === "button");
  own.destroy();
});
