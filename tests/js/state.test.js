/** The selection is always valid, undo and redo go through its history, and keys do what they should. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { arriving, begunAnew, hasChosen } from "../../vitviz/viewer/state/newphoto.js";
import { keyAction } from "../../vitviz/viewer/state/keys.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { openPanel, panelOf, visitPanel } from "../../vitviz/viewer/state/panels.js";
import {
  carried,
  complete,
  push,
  redo,
  startHistory,
  startSelection,
  undo,
  validSelection,
} from "../../vitviz/viewer/state/state.js";
import { startTaste, validTaste } from "../../vitviz/viewer/state/taste.js";

const grid = { rows: 2, cols: 3, prefix: 1, tokens: 7 };
const shape = { depth: 4, heads: 3, grid, panels: PANELS };
const start = startSelection(shape);

test("a selection starts at the last layer, at CLS, with the mean of heads", () => {
  assert.deepEqual([start.token, start.layer, start.head, start.direction], [0, 3, "mean", "from"]);
});

test("a visitor has chosen where to look with a token, a layer, a head or a direction, and not with a panel", () => {
  const chosen = (selection, began = start) => hasChosen({ ...start, ...selection }, began, shape);
  assert.equal(chosen({}), false);
  for (const one of [{ token: 3 }, { pinned: true }, { layer: 1 }, { head: 0 }, { direction: "to" }])
    assert.equal(chosen(one), true, JSON.stringify(one));
  assert.equal(chosen({ overlay: "none", residual: 0.9, experiment: "remove_1" }), false);
  // Query · key borrows head 0, and positions the middle patch, of 2 x 3 patches token 1 + 1 * 3 + 1 = 5.
  assert.equal(chosen(visitPanel("qk", start, shape)), false);
  assert.equal(chosen({ ...visitPanel("qk", start, shape), head: 2 }), true);
  assert.equal(visitPanel("positions", start, shape).token, 5);
  assert.equal(chosen(visitPanel("positions", start, shape)), false);
  assert.equal(chosen({ ...visitPanel("positions", start, shape), token: 2, pinned: true }), true);
  assert.equal(chosen({}, null), true, "a link has chosen");
});

test("another photo looks where it begins, and keeps panel and overlay", () => {
  const panda = { ...start, layer: 1, head: 2, token: 6 };
  const next = (selection) => validSelection(begunAnew({ ...panda, ...selection }, start), start, shape);
  assert.deepEqual(next({}), start);
  const rolled = next({ ...visitPanel("rollout", panda, shape), residual: 0.9 });
  assert.deepEqual(
    [rolled.panel, rolled.overlay, rolled.residual, rolled.token, rolled.layer, rolled.head],
    ["rollout", "rollout", 0.9, 0, 3, "mean"],
  );
  // While a panel has borrowed the head, the one that it gives back is that of the beginning.
  const mean = { ...panda, head: "mean" };
  const product = next({ ...mean, ...visitPanel("qk", mean, shape) });
  assert.deepEqual([product.head, product.lent.head, product.layer], [0, "mean", 3]);
});

test("a later photo begins anew while nobody has chosen, else what is looked at stays; so it does in another model", () => {
  const proposal = { layer: 1, head: 2, token: 6 };
  const of = (address, more = {}) =>
    /** @type {any} */ ({ grid, manifest: { photo: { name: "image.png" }, upload: { address }, ...more } });
  const first = arriving(null, null, of("a", { start: proposal }), null, shape);
  assert.deepEqual([first.anew, first.stays], [true, { ...start, ...proposal }]);
  const seen = first.next(first.stays);
  const later = (selection, source) => arriving({ ...first.stays, ...selection }, seen, source, null, shape);
  assert.deepEqual(later({}, of("b")).stays, start, "a photo of the same name");
  assert.deepEqual(later({ layer: 2 }, of("b")).stays, { ...start, ...proposal, layer: 2 });
  assert.equal(later({ layer: 2 }, of("b")).anew, false);
  assert.deepEqual(later({}, of("a")).stays, first.stays, "the same photo in another model");
  // What began anew is no choice; what was chosen stays chosen.
  const [second, third] = [later({}, of("b")), later({ layer: 2 }, of("b"))];
  assert.equal(arriving(second.stays, second.next(second.stays), of("c"), null, shape).anew, true);
  assert.equal(arriving(third.stays, third.next(third.stays), of("c"), null, shape).anew, false);
});

test("after a link that selects anything, all photos keep what it selects", () => {
  const source = /** @type {any} */ ({ grid, manifest: { photo: { name: "a" }, start: { layer: 1 } } });
  const linked = arriving(null, null, source, { layer: 0 }, shape);
  assert.deepEqual([linked.anew, linked.stays], [false, start]);
  for (const without of [null, {}, { panel: "rollout", projector: true }]) {
    assert.deepEqual(
      arriving(null, null, source, without, shape).stays,
      { ...start, layer: 1 },
      "no view: as the page itself",
    );
  }
  const { stays, anew } = arriving(
    start,
    linked.next(start),
    { grid, manifest: { ...source.manifest, photo: { name: "b" } } },
    null,
    shape,
  );
  assert.deepEqual([anew, stays], [false, start]);
});

test("who comes back goes on as before: what began by itself is no choice, and what was chosen stays one", () => {
  const source = /** @type {any} */ ({ grid, manifest: { photo: { name: "a" }, start: { layer: 1 } } });
  for (const chosen of [false, true]) {
    const back = arriving(null, null, source, { layer: 0 }, shape, { chosen });
    assert.equal(back.anew, false, "nothing fades in again");
    assert.equal(hasChosen(start, back.next(start).began, shape), chosen);
  }
});

test("what is not possible stays as it was", () => {
  const wrong = {
    token: 7,
    layer: -1,
    head: 3,
    direction: "sideways",
    panel: "x",
    overlay: 1,
    pinned: "yes",
    residual: 1.5,
    fusion: "sum",
    first: 9,
    mosaic: "both",
    moment: -1,
    other: 1,
  };
  assert.deepEqual(validSelection(wrong, start, shape), start);
  for (const token of ["3", 1.5, NaN, null, [2]]) {
    assert.equal(validSelection({ token }, start, shape).token, 0);
    assert.equal(validSelection({ moment: token }, start, shape).moment, "last");
  }
  assert.deepEqual(validSelection(null, start, shape), start);
  assert.equal(validSelection({ token: 99, pinned: true }, start, shape).pinned, false);
  const right = {
    token: 6,
    layer: 0,
    head: 2,
    direction: "to",
    panel: "patches",
    pinned: true,
    mosaic: "untrained",
    moment: 7,
  };
  assert.deepEqual(validSelection(right, start, shape), { ...start, ...right });
});

test("the first layer of a rollout never comes after the last", () => {
  assert.deepEqual(pickRange(validSelection({ layer: 1 }, { ...start, first: 2 }, shape)), [1, 1]);
  assert.deepEqual(pickRange(validSelection({ first: 3 }, { ...start, layer: 1 }, shape)), [3, 3]);
});

function pickRange({ first, layer }) {
  return [first, layer];
}

test("a panel brings its overlay, and predictions leave it alone", () => {
  assert.deepEqual(open("rollout"), { panel: "rollout", overlay: "rollout" });
  assert.deepEqual(open("predictions"), { panel: "predictions" });
});

const open = (id) => openPanel(panelOf(PANELS, id));

/** The change that opens a panel, without the fields that it has borrowed. */
function visit(id, from) {
  const wish = visitPanel(id, from, shape);
  delete wish.lent;
  return wish;
}

test("patches and positions begin with a patch, unless a prefix token is pinned", () => {
  assert.deepEqual(visit("patches", start), { panel: "patches", overlay: "none", token: 5 });
  assert.deepEqual(visit("positions", { ...start, pinned: true }), open("positions"));
  assert.deepEqual(visit("positions", { ...start, token: 3 }), open("positions"));
  assert.deepEqual(visit("rollout", start), open("rollout"));
  assert.deepEqual(visit("patches", { ...start, token: 1 }), open("patches"), "the first patch is one");
  assert.deepEqual(visit("qk", start), { ...open("qk"), head: 0 }, "a mean has no queries");
  assert.deepEqual(visit("qk", { ...start, head: 2 }), open("qk"));
  assert.deepEqual(
    [visitPanel("attention", start, shape), visitPanel("x", start, shape)],
    [open("attention"), {}],
  );
});

test("what a panel borrowed it gives back, unless something else was chosen meanwhile", () => {
  const walk = (from, ...steps) =>
    steps.reduce((now, step) => {
      const wish = typeof step === "string" ? visitPanel(step, now, shape) : step;
      return validSelection(wish, now, shape);
    }, from);
  const looked = ({ token, head, panel }) => [token, head, panel];
  assert.deepEqual(looked(walk(start, "patches")), [5, "mean", "patches"]);
  assert.deepEqual(looked(walk(start, "patches", "attention")), [0, "mean", "attention"]);
  assert.deepEqual(looked(walk(start, "patches", "positions", "rollout")), [0, "mean", "rollout"]);
  assert.deepEqual(looked(walk(start, "patches", { token: 5, pinned: true }, "attention")), [
    5,
    "mean",
    "attention",
  ]);
  assert.deepEqual(looked(walk(start, "patches", { token: 2 }, "attention")), [2, "mean", "attention"]);
  assert.deepEqual(looked(walk(start, "qk")), [0, 0, "qk"]);
  assert.deepEqual(looked(walk(start, "qk", { layer: 1 }, "model")), [0, "mean", "model"]);
  assert.deepEqual(looked(walk(start, "qk", { head: 1 }, "model")), [0, 1, "model"]);
  assert.deepEqual(
    looked(walk({ ...start, head: 0 }, "qk", "model")),
    [0, 0, "model"],
    "nothing was borrowed",
  );
  const history = push(startHistory(start), walk(start, "rollout"), 0);
  assert.equal(push(history, walk(history.now, "rollout"), 9000), history, "the open panel is no step");
  const coarse = { rows: 1, cols: 3, prefix: 0, tokens: 3 };
  assert.equal(carried(walk(start, "patches"), grid, coarse).lent.token, null, "no prefix token there");
});

test("on another grid a patch stays at its place, and a prefix token that is not there is none", () => {
  const finer = { rows: 4, cols: 6, prefix: 2, tokens: 26 };
  assert.equal(carried(start, grid, finer).partner, "strongest");
  const to = (token, from, target) => carried({ ...start, token, partner: token }, from, target);
  assert.deepEqual(
    [to(6, grid, finer).token, to(6, grid, finer).partner],
    [25, 25],
    "the last patch is the last",
  );
  assert.deepEqual(
    [to(25, finer, grid).token, to(0, finer, grid).token, to(1, finer, grid).token],
    [6, 0, null],
  );
  const bare = { rows: 2, cols: 3, prefix: 0, tokens: 6 };
  const there = { ...shape, grid: bare };
  const pinned = validSelection({ ...to(0, grid, bare), pinned: true }, startSelection(there), there);
  assert.deepEqual([pinned.token, pinned.pinned, pinned.layer], [4, false, 3], "the middle, as at the start");
});

test("an address may name a panel or a token and leave out what belongs to it", () => {
  assert.deepEqual(complete({ panel: "rollout" }, start, shape), {
    panel: "rollout",
    overlay: "rollout",
    lent: {},
  });
  assert.deepEqual(complete({ panel: "rollout", overlay: "none" }, start, shape), {
    panel: "rollout",
    overlay: "none",
    lent: {},
  });
  assert.deepEqual(complete({ token: 3 }, start, shape), { token: 3, pinned: true });
  assert.deepEqual(complete(null, start, shape), {});
  assert.deepEqual(complete({ panel: "patches" }, start, shape), {
    panel: "patches",
    overlay: "none",
    token: 5,
    lent: { token: 0 },
  });
  assert.equal(
    complete({ panel: "patches" }, { ...start, token: 3 }, shape).token,
    undefined,
    "another patch may stay",
  );
});

test("undo and redo walk through what was selected", () => {
  let history = startHistory(start);
  assert.equal(undo(history), history);
  assert.equal(redo(history), history);
  const at = (token) => ({ ...history.now, token });
  history = push(history, at(1), 0);
  history = push(history, at(2), 5000);
  assert.equal(push(history, { ...history.now }, 6000), history, "nothing changed, nothing to undo");
  history = undo(history);
  assert.equal(history.now.token, 1);
  history = redo(history);
  assert.equal(history.now.token, 2);
  history = push(undo(history), at(5), 9000);
  assert.equal(history.future.length, 0, "a new step ends what could be redone");
  assert.deepEqual(undo(undo(history)).now, start);
});

test("a slider that is dragged is one step", () => {
  let history = startHistory(start);
  for (let i = 0; i < 4; i++) history = push(history, { ...history.now, residual: i / 10 }, 9000 + i * 100);
  history = push(history, { ...history.now, token: 1 }, 9450);
  assert.equal(history.past.length, 2);
  assert.deepEqual(undo(undo(history)).now, start);
});

test("panels that are opened in haste are steps of their own", () => {
  const walk = (history, panel, time) =>
    push(history, validSelection(visitPanel(panel, history.now, shape), history.now, shape), time);
  const history = walk(walk(startHistory(start), "patches", 0), "features", 100);
  assert.deepEqual([undo(history).now.panel, undo(undo(history)).now], ["patches", start]);
  const beside = (history, key, time) => push(history, { ...history.now, beside: key }, time);
  const opened = beside(beside(beside(startHistory(start), "a", 0), "", 100), "a", 200);
  assert.deepEqual([undo(opened).now.beside, undo(undo(opened)).now.beside], ["", "a"]);
});

test("history forgets its oldest steps", () => {
  let history = startHistory(start);
  for (let i = 1; i < 500; i++) history = push(history, { ...start, token: i % 7, layer: i % 4 }, i * 1e4);
  assert.equal(history.past.length, 200);
});

test("taste is checked too", () => {
  const START_TASTE = startTaste(PANELS);
  const valid = (wanted) => validTaste(wanted, START_TASTE, PANELS);
  assert.deepEqual(valid({ colours: "jet", opacity: 7, smooth: 1, scale: "x" }), START_TASTE);
  assert.deepEqual(valid({ gallery: "x", order: 1, units: null, lens: ["rank"] }), START_TASTE);
  for (const opacity of [null, "", "0.5", -0.1, NaN])
    assert.equal(valid({ opacity }).opacity, START_TASTE.opacity);
  const wanted = {
    opacity: 0,
    colours: "magma",
    scale: "heads",
    gallery: "dots",
    order: "channel",
    units: "raw",
    lens: "rank",
  };
  assert.deepEqual(valid(wanted), { ...START_TASTE, ...wanted });
});

const press = (key, code = "", more = {}) => ({
  key,
  code,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test("keys", () => {
  const ask = (event, selection = start, onStage = false) => keyAction(event, selection, shape, onStage);
  assert.deepEqual(ask(press("[")), { select: { layer: 2 } });
  assert.deepEqual(ask(press("]")), { select: { layer: 3 } });
  assert.deepEqual(ask(press(".")), { select: { head: 0 } });
  assert.deepEqual(ask(press(","), { ...start, head: 0 }), { select: { head: "mean" } });
  assert.deepEqual(ask(press("."), { ...start, head: 2 }), { select: { head: 2 } });
  assert.deepEqual(ask(press("d", "KeyD")), { select: { direction: "to" } });
  assert.deepEqual(ask(press("ㅇ", "KeyD")), { select: { direction: "to" } }, "with Korean input");
  assert.deepEqual(ask(press("ㅡ", "KeyM"), { ...start, head: 1 }), { select: { head: "mean" } });
  assert.deepEqual(ask(press("?")), { command: "help" });
  assert.equal(ask(press("Escape")), null, "nothing to release, so the page may have it");
  assert.deepEqual(ask(press("Escape"), { ...start, pinned: true }), { command: "release" });
  assert.deepEqual(ask(press("z", "KeyZ", { ctrlKey: true })), { command: "undo" });
  assert.deepEqual(ask(press("Z", "KeyZ", { metaKey: true, shiftKey: true })), { command: "redo" });
  assert.equal(ask(press("d", "KeyD", { ctrlKey: true })), null, "the browser's own shortcut");
  assert.deepEqual(ask(press("z", "KeyY", { ctrlKey: true })), { command: "undo" }, "a German keyboard");
  assert.deepEqual(ask(press("z", "KeyW", { ctrlKey: true })), { command: "undo" }, "a French one");
  assert.deepEqual(ask(press("m", "Semicolon"), { ...start, head: 1 }), { select: { head: "mean" } });
  assert.deepEqual(ask(press("ㅋ", "KeyZ", { ctrlKey: true })), { command: "undo" }, "with Korean input");
  const behindAltGr = press("[", "Digit8", { ctrlKey: true, altKey: true });
  assert.deepEqual(ask(behindAltGr), { select: { layer: 2 } });
  assert.equal(ask(press("[", "BracketLeft", { metaKey: true })), null, "the browser's way back");
  assert.equal(ask(press("ArrowRight")), null, "arrows belong to the stage");
  assert.deepEqual(ask(press("ArrowRight"), start, true), { select: { token: 1, pinned: true } });
  assert.deepEqual(ask(press("Home"), { ...start, token: 4 }, true), { select: { token: 0, pinned: true } });
  for (const key of ["Enter", " "]) assert.deepEqual(ask(press(key), start, true), { command: "pin" });
  assert.equal(ask(press("x", "KeyX"), start, true), null);
});

test("shift and arrows point without selecting, and go on from what is pointed at", () => {
  const right = press("ArrowRight", "", { shiftKey: true });
  assert.deepEqual(keyAction(right, { ...start, token: 1 }, shape, true), { point: 2 });
  assert.deepEqual(keyAction(right, { ...start, token: 1 }, shape, true, 4), { point: 5 });
  assert.equal(keyAction(right, start, shape, false), null, "arrows belong to the stage");
});
