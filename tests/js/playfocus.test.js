/** The focus in the playground, where parts of the page are made anew. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createPlayground } from "../../vitviz/viewer/play/playground.js";
import { createSigning } from "../../vitviz/viewer/play/signing.js";
import { fileOf } from "../../vitviz/viewer/play/signs.js";
import { sayingIn } from "../../vitviz/viewer/play/saying.js";
import { openPage } from "./page.js";
import { storageOf } from "./fixture.js";

beforeEach(() => {
  globalThis.sessionStorage = /** @type {any} */ (storageOf(new Map())());
});
afterEach(() => {
  delete globalThis.sessionStorage;
});

test("who chooses a subject by the arrow keys stays at the choice", (context) => {
  const { body } = openPage(context);
  const playground = createPlayground(
    /** @type {any} */ ({
      element: body,
      address: null,
      fetchDigits: () => new Promise(() => {}),
      trunk: () => new Promise(() => {}),
    }),
  );
  playground.open();
  const choices = () => body.querySelectorAll(".vv-play-subject input");
  choices()[0].focus();
  choices()[1].focus();
  choices()[1].send("change");
  assert.equal(globalThis.document.activeElement, choices()[1]);
  choices()[2].focus();
  choices()[2].send("change");
  assert.equal(globalThis.document.activeElement, choices()[2]);
  assert.ok(choices()[2].checked);
});

test("kinds of signs keep the focus while they are renamed, chosen and taken away", (context) => {
  const { body } = openPage(context);
  const drawing = () => ({ width: 0.1, points: [[0.5, 0.5]] });
  const drawn = ["A", "B", "C"].map((name) => ({ name, drawings: [[drawing()], [drawing()]] }));
  globalThis.sessionStorage.setItem("vitviz-signs", fileOf(drawn));
  const signing = createSigning({ learn() {}, request() {} });
  body.append(signing.build(sayingIn("en", "signs")));
  const rows = () => body.querySelectorAll(".vv-signs-kind");
  const name = () => rows()[0].querySelector("input");
  name().value = "cup";
  const choose = rows()[0].querySelector("button");
  choose.focus(); // Tab: the browser focuses the next one, and then the change is heard
  name().send("change");
  assert.deepEqual(
    [name().value, globalThis.document.activeElement === rows()[0].querySelector("button")],
    ["cup", true],
  );
  const drawings = () => rows()[0].querySelectorAll(".vv-signs-drawing");
  const [first, second] = drawings();
  first.focus();
  first.click();
  assert.deepEqual([drawings().length, globalThis.document.activeElement === second], [1, true]);
  second.click();
  assert.equal(globalThis.document.activeElement, rows()[0].querySelector("button"));
  const gone = rows()[1].querySelectorAll("button")[1];
  gone.focus();
  gone.click(); // two are left, which cannot be taken away
  assert.deepEqual(
    [rows().length, globalThis.document.activeElement === rows()[1].querySelector("input")],
    [2, true],
  );
});
