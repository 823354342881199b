/** The pen field, by the keyboard. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createPenField } from "../../vitviz/viewer/stage/penfield.js";
import { openPage } from "./page.js";

test("over a field that was emptied the pen is up, until it is put down again", (context) => {
  const { body } = openPage(context);
  const field = createPenField(
    { t: (key) => key },
    () => {},
    () => {},
  );
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
