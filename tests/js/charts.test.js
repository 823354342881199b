/** Charts of lines, and what a finger points at in them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createCurves } from "../../vitviz/viewer/panels/positions/curves.js";
import { createLineChart } from "../../vitviz/viewer/parts/linechart.js";
import { hover } from "../../vitviz/viewer/parts/pointing.js";
import { openPage } from "./page.js";

test("a line over one column is drawn from side to side", (t) => {
  openPage(t);
  const pointsOf = (values) => {
    const columns = values.map((_, at) => String(at));
    const chart = createLineChart({ label: "", axis: "", columns, onChoose() {} });
    const lines = [{ name: "cat", title: "cat", values }];
    chart.render({ lines, scale: { min: 0, max: 1 }, marked: 0, reading: "", ticks: [] });
    return chart.root.querySelector("polyline").getAttribute("points");
  };
  assert.equal(pointsOf([0.25]), "0.0,750.0 1000.0,750.0");
  assert.equal(pointsOf([0.25, 1]), "250.0,750.0 750.0,0.0");
});

test("rows and columns of curves are counted from 0 or from 1", (t) => {
  openPage(t);
  const curves = createCurves({ title: "", axis: "", count: 3, scale: { min: -1, max: 1 }, names: [""] });
  const numbers = () =>
    [...curves.root.querySelectorAll("text")]
      .filter((node) => node.getAttribute("text-anchor") === "middle")
      .map(({ textContent }) => textContent);
  const counted = [false, true].map((fromOne) => {
    curves.count(fromOne);
    return numbers();
  });
  assert.deepEqual(counted, [
    ["0", "1", "2"],
    ["1", "2", "3"],
  ]);
});

test("what a finger has reached stays when it is lifted, and a mouse takes it along", (t) => {
  const { body } = openPage(t);
  const did = [];
  hover(
    body,
    ({ at }) => did.push(at),
    () => did.push(null),
  );
  body.send("pointerdown", { at: 1, pointerType: "touch" });
  body.send("pointerleave", { pointerType: "touch" });
  body.send("pointermove", { at: 2, pointerType: "mouse" });
  body.send("pointerleave", { pointerType: "mouse" });
  assert.deepEqual(did, [1, 2, null]);
});
