/** Own row: what takes a picture of the camera. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createRow } from "../../vitviz/viewer/play/ownrow.js";
import { OwnSet } from "../../vitviz/viewer/play/ownset.js";
import { sayingIn } from "../../vitviz/viewer/play/saying.js";
import { openPage } from "./page.js";

test("a click alone takes one picture, and only the main button of a pointer holds", (context) => {
  const { body, button } = openPage(context);
  const set = new OwnSet();
  let shot = 0;
  const on = /** @type {any} */ ({ shoot: () => (shot += 1) });
  const image = { height: 4, width: 4, channels: 3 };
  body.append(createRow({ thing: set.things[0], set, say: sayingIn("en"), image, on }).root);
  const hold = button(sayingIn("en")("ownHold"));
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
