/** The walk at the start shows its tokens once, and the first touch ends it for good. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { startWalk } from "../../vitviz/viewer/parts/walk.js";

/** A page: its listeners by type, as `addEventListener` keeps them. */
function target() {
  const heard = {};
  return {
    heard,
    addEventListener: (type, listener) => {
      (heard[type] ??= new Set()).add(listener);
    },
    removeEventListener: (type, listener) => heard[type].delete(listener),
    fire: (type) => {
      for (const listener of [...(heard[type] ?? [])]) listener();
    },
    count: () => Object.values(heard).reduce((sum, listeners) => sum + listeners.size, 0),
  };
}

let still = false;
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  still = false;
  globalThis.window = target();
  globalThis.document = { hidden: false };
  globalThis.matchMedia = () => ({ matches: still });
});
afterEach(() => {
  mock.timers.reset();
  for (const name of ["window", "document", "matchMedia"]) delete globalThis[name];
});

function walk(tokens = [4, 5, 6]) {
  const shown = [];
  const node = target();
  return { shown, node, walk: startWalk(tokens, (token) => shown.push(token), node) };
}

test("it begins after two seconds, and ends after the last token", () => {
  const { shown, node } = walk();
  mock.timers.tick(1999);
  assert.deepEqual(shown, []);
  mock.timers.tick(1);
  assert.deepEqual(shown, [4]);
  for (let count = 0; count < 4; count++) mock.timers.tick(2400);
  assert.deepEqual(shown, [4, 5, 6, null]);
  assert.equal(node.count() + globalThis.window.count(), 0);
});

for (const touch of ["pointerdown", "touchstart", "wheel", "keydown", "focusin", "pointermove"]) {
  test(touch + " ends it for good, before and after it has begun", () => {
    for (const passed of [0, 3000]) {
      const { shown, node } = walk();
      mock.timers.tick(passed);
      (touch === "pointermove" ? node : globalThis.window).fire(touch);
      const said = [...shown];
      assert.deepEqual(said, passed ? [4, null] : []);
      mock.timers.tick(20_000);
      assert.deepEqual(shown, said);
      assert.equal(node.count() + globalThis.window.count(), 0);
    }
  });
}

test("it stands still where motion is unwelcome, and while nobody sees the page", () => {
  still = true;
  const unwelcome = walk();
  mock.timers.tick(20_000);
  unwelcome.walk.stop();
  assert.deepEqual(unwelcome.shown, []);
  still = false;
  globalThis.document.hidden = true;
  const unseen = walk();
  mock.timers.tick(20_000);
  assert.deepEqual(unseen.shown, []);
  globalThis.document.hidden = false;
  mock.timers.tick(2400);
  assert.deepEqual(unseen.shown, [4]);
});
