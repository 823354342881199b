/** Which keys the viewer takes, by where they are pressed. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { listenToKeys } from "../../vitviz/viewer/shell/keyboard.js";
import { openPage } from "./page.js";

/** A page with the viewer; `press` says whether it took a key, and `did` what it did. */
function page(context) {
  const { body } = openPage(context);
  const { document, window } = globalThis;
  const [did, listeners] = [[], {}];
  const hears = { addEventListener: (type, listener) => (listeners[type] = listener) };
  Object.assign(document, hears, { querySelector: () => null });
  Object.assign(window, hears);
  const root = Object.assign(document.createElement("div"), { ...hears, getClientRects: () => [{}] });
  const menu = document.createElement("select");
  const button = document.createElement("button");
  root.append(menu, button);
  body.append(root);
  const grid = { rows: 2, cols: 2, prefix: 1, tokens: 5 };
  const app = {
    selection: { layer: 0, head: 0, token: 1, beside: "" },
    shape: () => ({ depth: 4, heads: 2, grid, panels: [], besides: ["kept"], lessons: [] }),
    taste: { projector: false },
    course: { takes: () => false },
    bench: { list: () => [{}], use: ({ shows }) => did.push(shows) },
    pointer: { picksPartner: () => false, pointed: null },
    select: (wanted) => did.push(Object.keys(wanted).join()),
    undo: () => did.push("undo"),
    redo: () => did.push("redo"),
  };
  const screen = { root, board: { stage: { focus: null } } };
  listenToKeys(/** @type {any} */ (app), /** @type {any} */ (screen), () => {});
  const press = (target, key, more = {}) => {
    let taken = false;
    const code = "Key" + key.toUpperCase();
    listeners.keydown({ target, key, code, ...more, preventDefault: () => (taken = true) });
    return taken;
  };
  return { did, menu, button, press };
}

test("letters choose in a menu of the viewer, and are shortcuts beside it", (t) => {
  const { did, menu, button, press } = page(t);
  for (const key of ["b", "d", "m", "x"]) assert.equal(press(menu, key), false, key);
  assert.deepEqual(did, []);
  assert.equal(press(button, "d"), true);
  press(button, "x");
  assert.deepEqual(did, ["direction", "before"]);
});

test("a step is taken back from a menu, and other keys work in it, too", (t) => {
  const { did, menu, press } = page(t);
  assert.equal(press(menu, "]"), true);
  assert.deepEqual(did.splice(0), ["layer"]);
  assert.equal(press(menu, "z", { ctrlKey: true }), true);
  assert.deepEqual(did, ["undo"]);
});
