/** Panels describe themselves: an unknown panel works, and no other module names a panel. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { createPointer } from "../../vitviz/viewer/state/pointer.js";
import { readLink, writeLink } from "../../vitviz/viewer/state/link.js";
import { oneOf, panelOf, visitPanel } from "../../vitviz/viewer/state/panels.js";
import { complete, startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste, validTaste } from "../../vitviz/viewer/state/taste.js";
import { STRINGS } from "../../vitviz/viewer/text/strings.js";

const VIEWER = new URL("../../vitviz/viewer/", import.meta.url);
const grid = { rows: 2, cols: 3, prefix: 1, tokens: 7 };

/** A new panel, complete but for its texts. */
const noise = {
  id: "noise",
  overlay: "features",
  needs: "layer",
  pairs: true,
  rests: () => 4,
  borrows: ({ layer }) => (layer === 3 ? { layer: 2 } : {}),
  selects: { dose: { start: 0, possible: (value) => Number.isInteger(value) && value >= 0 } },
  prefers: { grain: oneOf(["fine", "coarse"]) },
  link: ["partner"],
  code: () => null,
  create: () => assert.fail("there is no document here"),
};
const panels = [...PANELS, noise];
const shape = { depth: 4, heads: 3, grid, panels };

test("a panel that nobody has heard of is visited, linked, remembered and left", () => {
  const start = startSelection(shape);
  const taste = startTaste(panels);
  assert.deepEqual([start.dose, taste.grain, start.panel], [0, "fine", "attention"]);
  const open = validSelection(visitPanel("noise", start, shape), start, shape);
  assert.deepEqual([open.panel, open.overlay, open.token, open.layer], ["noise", "features", 4, 2]);

  const app = {
    source: { grid },
    selection: open,
    panel: () => panelOf(panels, app.selection.panel),
    select: (wanted) => {
      app.selection = validSelection(wanted, app.selection, shape);
    },
  };
  Object.assign(app, { pointer: createPointer(app, () => {}) });
  app.pointer.pin(6);
  assert.deepEqual(
    [app.selection.token, app.selection.partner],
    [4, 6],
    "pointing finds the other of a pair",
  );
  app.pointer.choosePick("token");
  app.pointer.pin(5);
  app.pointer.release();
  assert.equal(app.selection.token, 4, "where it rests");

  const looked = { ...app.selection, dose: 7, partner: 2 };
  const fond = validTaste({ grain: "coarse" }, taste, panels);
  const href = writeLink("http://x/?y=1", looked, fond, {}, shape);
  const found = readLink(href, panels);
  assert.deepEqual([found.panel, found.dose, found.grain, found.partner], ["noise", 7, "coarse", 2]);
  const back = validSelection(complete(found, start, shape), start, shape);
  assert.deepEqual([back.dose, back.partner, back.token], [7, 2, 4]);
  assert.equal(validTaste(found, taste, panels).grain, "coarse");
  assert.equal(validSelection({ dose: -1 }, start, shape).dose, 0);
  assert.equal(validTaste({ grain: "x" }, taste, panels).grain, "fine");

  const left = validSelection(visitPanel("model", looked, shape), looked, shape);
  assert.deepEqual([left.panel, left.token, left.layer], ["model", 0, 3], "what it borrowed is given back");
  const pinned = { ...looked, pinned: true };
  assert.equal(visitPanel("model", pinned, shape).token, undefined, "what was pinned meanwhile stays");
  const elsewhere = new URL(writeLink(href, left, fond, {}, shape)).searchParams;
  assert.deepEqual(
    ["dose", "grain", "partner"].filter((name) => elsewhere.has(name)),
    [],
  );
  assert.equal(validSelection({ panel: "noise" }, start, { ...shape, panels: PANELS }).panel, "attention");
});

test("panels differ in their ids and in their own fields, and each has a name", () => {
  const ids = PANELS.map(({ id }) => id);
  const fields = PANELS.flatMap(({ selects = {}, prefers = {} }) => [
    ...Object.keys(selects),
    ...Object.keys(prefers),
  ]);
  for (const names of [ids, fields]) assert.equal(new Set(names).size, names.length);
  for (const { id, code } of PANELS) assert.equal(typeof code, "function", id);
  for (const id of ids) for (const texts of Object.values(STRINGS)) assert.ok(texts["panel_" + id], id);
  assert.equal(PANELS.filter(({ first }) => first).length, 1);
  const common = { ...startSelection({ ...shape, panels: [{ id: "x" }] }), ...startTaste([]) };
  for (const name of fields) assert.ok(!(name in common), name);
});

test("the panels of a group stand together, and each group has a name", () => {
  const groups = PANELS.map(({ group }) => group);
  const runs = groups.filter((group, at) => at === 0 || group !== groups[at - 1]);
  assert.deepEqual(runs, [undefined, "see", "why", "try"]);
  for (const group of runs.slice(1))
    for (const texts of Object.values(STRINGS)) assert.ok(texts["group_" + group], group);
});

test("a panel is named in its own file, and asked of by nobody", () => {
  const files = readdirSync(VIEWER, { recursive: true }).filter(
    (name) => name.endsWith(".js") && name !== "text/strings.js",
  );
  for (const name of files) {
    const source = readFileSync(new URL(name, VIEWER), "utf8");
    if (name.startsWith("lessons/")) continue; // a lesson is data: its steps name the panels that they show
    assert.doesNotMatch(source, /panel\s*[!=]==\s*"|[{,]\s*panel: "/, name);
    if (name !== "panels/qk.js") assert.doesNotMatch(source, /"qk"/, name);
    const id = /\bid: "(\w+)"/.exec(source)?.[1];
    if (/^panels\/\w+\.js$/.test(name) && name !== "panels/index.js")
      assert.equal(name, "panels/" + id + ".js");
  }
});

test("the note on the large picture says which end of the film it is of, where there is a film", () => {
  const { note } = PANELS.find(({ id }) => id === "training");
  const said = (exists, trained) =>
    note({ t: (key) => key, source: { film: { exists }, manifest: { model: { trained } } } });
  assert.deepEqual(
    [said(true, true), said(true, null), said(true, false), said(false, true)],
    ["filmStage", "filmStage", "filmStageBefore", ""],
  );
});
