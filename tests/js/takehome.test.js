/** The page to take home: what is put into it cannot end its script, and its size is told before. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { createTakeHome, estimate, filled, neededBy } from "../../vitviz/viewer/saving/takehome.js";
import { sourceOf, until } from "./fixture.js";
import { appOf } from "./walk.js";
import { guessBook } from "../../vitviz/viewer/state/memory.js";

const PAGE = readFileSync(new URL("../../vitviz/payload/page.html", import.meta.url), "utf8");

test("the page has one place for what is taken, and nothing gets out of it", () => {
  const taken = {
    note: "</script><script>alert(1)</script> <!-- $& 개",
    guesses: {},
    selection: { token: 3 },
  };
  const page = filled(PAGE, taken);
  assert.equal(page.split('id="taken"').length, 2);
  const inside = page.slice(page.indexOf('id="taken">') + 'id="taken">'.length);
  const text = inside.slice(0, inside.indexOf("</script"));
  assert.ok(!text.includes("<"));
  assert.deepEqual(JSON.parse(text), taken);
  assert.equal(filled(page.replace(text, "null"), null), PAGE);
  assert.throws(() => filled("<p>", taken), /no place/);
});

test("fewer layers make a smaller page, and the film a larger one", () => {
  const file = (size) => ({ path: "x", size });
  const manifest = /** @type {any} */ ({
    model: { depth: 3, num_tokens: 10, embed_dim: 8 },
    files: {
      picture: file(300),
      "layer-00": file(3000),
      "layer-01": file(3000),
      "layer-02": file(3000),
      film: file(30_000),
    },
  });
  const of = (...layers) => estimate(manifest, new Set(layers), false);
  const step = of(0, 1) - of(0);
  assert.ok(step > 4000 && Math.abs(of(0, 1, 2) - of(0, 1) - step) < 1e-6);
  assert.equal(estimate(manifest, new Set([0]), true) - of(0), 40_000);
  // of a photo that stays in the page
  const here = { ...manifest, files: { picture: {}, "layer-00": { make: null }, film: {} } };
  assert.ok(
    Math.abs(estimate(here, new Set([0]), false) - (of(0) - (4 / 3) * (300 + 3000 - 4 * 10 * 8))) < 1e-6,
  );
});

test("guesses that came with a page are known, and those made in it are newer", () => {
  const book = guessBook(
    () => {
      throw new Error("no storage");
    },
    { "ask/tap": { guess: 3 }, "cut/a": { guess: 1 } },
  );
  book.keep("ask/tap", { guess: 4 });
  assert.deepEqual(book.of("ask"), { "ask/tap": { guess: 4 } });
  assert.deepEqual(book.recall("cut/a"), { guess: 1 });
});

test("a lesson takes along the layers and the film that its steps speak of", async () => {
  const app = appOf(await sourceOf("registers"));
  assert.deepEqual(neededBy(app), { layers: [], film: false });
  const of = (lesson) => {
    app.select({ lesson, step: 1 });
    return neededBy(app);
  };
  assert.deepEqual(of("ask"), { layers: [2, app.source.manifest.model.depth - 1, 1], film: false });
  assert.equal(of("school").film, true);
});

/** A node as far as the part of the dialog needs it. */
function nodeOf(tag) {
  const node = {
    tag,
    children: [],
    heard: {},
    textContent: "",
    value: "",
    setAttribute() {},
    addEventListener: (event, listener) => {
      node.heard[event] = listener;
    },
    append: (...more) => node.children.push(...more),
    all: () => [node, ...node.children.flatMap((child) => child.all?.() ?? [])],
    querySelector: (wanted) => node.all().find((one) => one.tag === wanted),
  };
  return node;
}

test("a note that is being written is there when the dialog opens again, and in the page", async (t) => {
  globalThis.document = {
    createElement(tag) {
      const node = nodeOf(tag);
      // as in a browser: what a textarea is made with stands in it
      if (tag === "textarea")
        Object.defineProperty(node, "textContent", {
          set(text) {
            node.value = text;
          },
        });
      return node;
    },
  };
  t.after(() => {
    delete globalThis.document;
  });
  const app = appOf(await sourceOf("cls"));
  Object.assign(app, {
    page: { note: "" },
    backend: { explains: () => false, takeHome: async () => ({ html: PAGE }) },
  });
  const saved = [];
  const opens = () =>
    /** @type {any} */ (
      createTakeHome(
        /** @type {any} */ (app),
        (blob) => saved.push(blob),
        () => "a.html",
      )
    );
  const typed = opens().querySelector("textarea");
  assert.equal(typed.value, "");
  typed.value = "Look at the ears.";
  typed.heard.input?.();
  const dialog = opens(); // a click beside it has closed it
  assert.equal(dialog.querySelector("textarea").value, "Look at the ears.");
  dialog
    .all()
    .filter(({ tag }) => tag === "button")
    .at(-1)
    .heard.click();
  await until(() => saved.length > 0);
  assert.ok((await saved[0].text()).includes('"note":"Look at the ears."'));
});
