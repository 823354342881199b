/** The pen field, by the keyboard. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createPenField } from "../../vitviz/viewer/stage/penfield.js";
import { openPage } from "./page.js";

const pens = () =>
  createPenField(
    { t: (key) => key },
    () => {},
    () => {},
  );

test("over a field that was emptied the pen is up, until it is put down again", (context) => {
  const { body } = openPage(context);
  const field = pens();
  const { node, where } = field.build();
  body.append(node);
  const press = (key) => node.send("keydown", { key });
  const empty = [() => field.replace([]), () => node.send("keydown", { key: "z" }) && field.undo()];
  for (const clear of empty) {
    press(" ");
    press("ArrowRight");
    assert.ok(!field.empty() && where.textContent === "drawPen_down");
    clear();
    assert.ok(!node.querySelector(".vv-drawing-pen").classList.contains("vv-down"));
    press("ArrowRight");
    assert.deepEqual([field.empty(), where.textContent], [true, "drawPen_up"]);
  }
});

test("a field that is made anew during a stroke takes the next one", (context) => {
  const { body } = openPage(context);
  const field = pens();
  /** @param {any} node */
  const stroke = (node, pointerId) => {
    node.setPointerCapture = () => {};
    node.getBoundingClientRect = () => ({ left: 0, top: 0, width: 100, height: 100 });
    node.send("pointerdown", { pointerId, button: 0, clientX: 50, clientY: 50, preventDefault() {} });
  };
  const before = field.build();
  body.append(before.node);
  stroke(before.node, 1); // the finger is lifted over what replaces the field
  field.replace([]);
  const { node } = field.build();
  body.replaceChildren(node);
  stroke(node, 2);
  assert.ok(!field.empty());
});
