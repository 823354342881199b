/** Own row: what takes a picture of the camera. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createRow } from "../../vitviz/viewer/play/ownrow.js";
import { OwnSet } from "../../vitviz/viewer/play/ownset.js";
import { textsIn } from "../../vitviz/viewer/play/texts.js";
import { openPage } from "./page.js";

test("a click alone takes one picture, and only the main button of a pointer holds", (context) => {
  const { body, button } = openPage(context);
  const set = new OwnSet();
  let shot = 0;
  const on = /** @type {any} */ ({ shoot: () => (shot += 1) });
  const image = { height: 4, width: 4, channels: 3 };
  body.append(createRow({ thing: set.things[0], set, say: textsIn("en"), image, on }).root);
  const hold = button(textsIn("en")("ownHold"));
  hold.click({ detail: 0 }); // as screen readers and speech control press
  assert.equal(shot, 1);
  hold.send("pointerdown", { button: 2 });
  hold.send("pointerup");
  assert.equal(shot, 1);
  hold.send("pointerdown", { button: 0 });
  hold.send("pointerup");
  hold.click({ detail: 1 }); // which a pointer gives, too
  assert.equal(shot, 2);
  hold.send("keydown", { key: "Enter" });
  assert.ok(hold.send("keyup", { key: "Enter" }).defaultPrevented);
  assert.equal(shot, 3);
});

test("the last picture of none of them leaves the focus in its row", (context) => {
  const { body, button } = openPage(context);
  const [set, say] = [new OwnSet(), textsIn("en")];
  set.others();
  const thing = set.none;
  const picture = { pixels: new Uint8Array(48), group: 1, file: null };
  thing.pictures.push(/** @type {any} */ (picture));
  const on = /** @type {any} */ ({ drop: () => thing.pictures.pop(), choose() {} });
  const row = createRow({ thing, set, say, image: { height: 4, width: 4, channels: 3 }, on });
  body.append(row.root);
  const now = { name: say("ownNone"), place: 1, films: false };
  row.render(now);
  body.querySelector(".vv-signs-drawing").focus();
  body.querySelector(".vv-signs-drawing").click();
  row.render(now);
  assert.equal(globalThis.document.activeElement, button(say("ownFiles")));
});
