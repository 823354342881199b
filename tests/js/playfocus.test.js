/** The focus in the playground, where parts of the page are made anew. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createPlayground } from "../../vitviz/viewer/play/playground.js";
import { createSigning } from "../../vitviz/viewer/play/signing.js";
import { fileOf } from "../../vitviz/viewer/play/signs.js";
import { textsIn } from "../../vitviz/viewer/play/texts.js";
import { openPage, settled } from "./page.js";
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
  body.append(signing.build(textsIn("en", "signs")));
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

test("a sign and a kind that were taken away come back by undo, where there is room", (context) => {
  const { body } = openPage(context);
  const stroke = (x) => [{ width: 0.1, points: [[x, 0.5]] }];
  const drawn = ["A", "B", "C"].map((name, at) => ({
    name,
    drawings: [0.1, 0.2, 0.3].map((x) => stroke(x + at / 10)),
  }));
  globalThis.sessionStorage.setItem("vitviz-signs", fileOf(drawn));
  const signing = createSigning({ learn() {}, request() {} });
  body.append(signing.build(textsIn("en", "signs")));
  const all = () => body.querySelectorAll("button");
  const press = (text) => all().find(({ textContent }) => textContent === text);
  const stored = () => globalThis.sessionStorage.getItem("vitviz-signs");
  const names = () => body.querySelectorAll(".vv-signs-name").map(({ value }) => value);
  const [undo, more] = ["Undo", "+ kind"].map(press);
  const before = stored();
  assert.equal(undo.getAttribute("aria-disabled"), "true");
  body.querySelectorAll(".vv-signs-drawing")[4].click(); // the second of B
  assert.equal(JSON.parse(stored()).kinds[1].drawings.length, 2);
  assert.equal(undo.getAttribute("aria-disabled"), "false");
  undo.click();
  assert.deepEqual([stored(), undo.getAttribute("aria-disabled")], [before, "true"]);
  const gone = () => body.querySelectorAll(".vv-signs-kind")[1].querySelectorAll("button")[1];
  gone().click();
  assert.deepEqual(names(), ["A", "C"]);
  more.click(); // takes the name that is free
  assert.deepEqual(names(), ["A", "C", "B"]);
  undo.click();
  assert.match(body.querySelector(".vv-play-note").textContent, /There is a kind B already/);
  const input = body.querySelectorAll(".vv-signs-name")[2];
  input.value = "D";
  input.send("change");
  undo.click();
  assert.deepEqual(names(), ["A", "B", "C", "D"]);
  assert.deepEqual(JSON.parse(stored()).kinds.slice(0, 3), JSON.parse(before).kinds);
});

test("files of drawings are added where they are dropped, and what holds none is refused", async (context) => {
  const { body } = openPage(context);
  const drawn = (name) => [{ name, drawings: [[{ width: 0.1, points: [[0.5, 0.5]] }]] }];
  const dropped = (name, text) => new File([text], name);
  const playground = createPlayground(
    /** @type {any} */ ({ element: body, address: null, fetchDigits: () => new Promise(() => {}) }),
  );
  playground.open();
  const subject = body.querySelectorAll(".vv-play-subject input")[1];
  const drop = async (...files) => {
    const event = { dataTransfer: { files, types: ["Files"] } };
    body.querySelector("dialog").send("drop", event);
    await settled(20);
  };
  await drop(dropped("signs.json", fileOf(drawn("cat")))); // digits are learned, which have no drawings
  subject.send("change");
  const names = () =>
    JSON.parse(globalThis.sessionStorage.getItem("vitviz-signs")).kinds.map(({ name }) => name);
  await drop(dropped("signs.json", fileOf(drawn("cup"))), dropped("OTHERS.JSON", fileOf(drawn("pen"))));
  for (let wait = 0; wait < 200 && names().join() !== "cup,pen"; wait++) await settled(20);
  assert.deepEqual(names(), ["cup", "pen"]);
  const before = names();
  await drop(dropped("model.safetensors", "none")); // no model learns yet, which could be another one
  assert.deepEqual(names(), before);
  const signing = createSigning({ learn() {}, request() {} });
  await signing.take([dropped("model.safetensors", "none")]); // while the page is still on its way
  const said = () => body.querySelector(".vv-play-note").textContent;
  for (const language of ["en", "ko"]) {
    body.replaceChildren(signing.build(textsIn(language, "signs")));
    assert.equal(said(), textsIn(language)("signsNone"));
  }
  const slow = dropped("a.json", fileOf(drawn("bow")));
  await Promise.all([signing.take([slow]), signing.take([dropped("b.json", fileOf(drawn("bee")))])]);
  assert.deepEqual(names().slice(-2).sort(), ["bee", "bow"]);
});
