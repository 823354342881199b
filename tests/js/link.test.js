/** A link contains selection and taste and restores them; taste is remembered if storage is allowed. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { lacksPhoto, readLink, unknownNames, writeLink } from "../../vitviz/viewer/state/link.js";
import { recall, remember } from "../../vitviz/viewer/state/memory.js";
import { PANELS } from "../../vitviz/viewer/panels/index.js";
import { openPanel, panelOf, visitPanel } from "../../vitviz/viewer/state/panels.js";
import { complete, startSelection, validSelection } from "../../vitviz/viewer/state/state.js";
import { startTaste, validTaste as valid } from "../../vitviz/viewer/state/taste.js";
import { storageOf } from "./fixture.js";

const grid = { rows: 2, cols: 3, prefix: 1, tokens: 7 };
const shape = { depth: 4, heads: 3, grid, panels: PANELS };
const start = startSelection(shape);
const START_TASTE = startTaste(PANELS);
const PANEL_IDS = PANELS.map(({ id }) => id);
const open = (id) => openPanel(panelOf(PANELS, id));
const validTaste = (wanted) => valid(wanted, START_TASTE, PANELS);
const HREF = "http://127.0.0.1:7860/app/?__theme=dark&token=3&x=1#top";

function roundTrip(selection, taste = START_TASTE) {
  const href = writeLink(HREF, selection, taste, { model: "m" }, shape);
  const found = readLink(href, PANELS);
  return [validSelection(complete(found, start, shape), start, shape), validTaste(found)];
}

test("what is looked at comes back from its link", () => {
  const selections = [
    start,
    { ...start, token: 5, pinned: true, layer: 1, head: 2, direction: "to" },
    { ...start, overlay: "none" },
    { ...start, ...open("rollout"), first: 1, residual: 0.35, fusion: "max" },
    { ...start, ...open("qk"), token: 2, pinned: true, partner: 6, head: 1 },
    ...PANEL_IDS.map((panel) => ({ ...start, ...visitPanel(panel, start, shape), layer: 0 })),
  ];
  for (const selection of selections) {
    // Fields that a panel has borrowed are not in a link.
    assert.deepEqual({ ...roundTrip(selection)[0], lent: {} }, { ...selection, lent: {} });
  }
  const taste = {
    ...START_TASTE,
    scale: "heads",
    colours: "magma",
    gallery: "matrix",
    projector: true,
    opacity: 0.4,
    grid: false,
    smooth: true,
    rulers: true,
    fromOne: true,
  };
  assert.deepEqual(roundTrip(start, taste)[1], taste);
});

test("what stands beside comes back from its link, unless this page alone knows it", () => {
  const [named, known] = [
    ["untrained", "example-cat", "model-tiny-grey", "model-long"],
    ["kept", "photo-abc123", ""],
  ];
  const brought = (beside) => {
    const found = readLink(writeLink(HREF, { ...start, beside }, START_TASTE, {}, shape), PANELS);
    const all = { ...shape, besides: [...named, ...known] };
    return validSelection(complete(found, start, all), start, all).beside;
  };
  for (const key of named) assert.equal(brought(key), key);
  for (const key of known) assert.equal(brought(key), "", key);
});

test("a token that nobody pinned is in a link too, unless the panel begins with it", () => {
  const tokenOf = (panel, token) =>
    new URL(writeLink("http://x/", { ...start, panel, token }, START_TASTE, {}, shape)).searchParams.get(
      "token",
    );
  assert.deepEqual(
    [tokenOf("attention", 0), tokenOf("attention", 5), tokenOf("patches", 5), tokenOf("patches", 0)],
    [null, "5", null, "0"],
  );
  assert.equal(roundTrip({ ...start, token: 5 })[0].token, 5);
});

test("what only one panel shows is in its links alone", () => {
  const own = {
    patches: { order: "channel", units: "raw" },
    positions: { mosaic: "untrained" },
    attention: { gallery: "all" },
    qk: { partner: 2 },
    predictions: { lens: "rank" },
    training: { moment: 3 },
  };
  const all = Object.assign({}, ...Object.values(own));
  const names = Object.keys(all);
  for (const panel of PANEL_IDS) {
    const selection = validSelection({ ...open(panel), ...all }, start, shape);
    const href = writeLink(HREF, selection, validTaste(all), {}, shape);
    const { searchParams } = new URL(href);
    assert.deepEqual(
      names.filter((name) => searchParams.has(name)),
      Object.keys(own[panel] ?? {}),
      panel,
    );
    const found = readLink(href, PANELS);
    const back = { ...validTaste(found), ...validSelection(complete(found, start, shape), start, shape) };
    for (const [name, value] of Object.entries(own[panel] ?? {})) assert.equal(back[name], value, name);
  }
});

test("a link names model and picture, and leaves alone what is not ours", () => {
  const href = writeLink(
    HREF + "",
    { ...start, token: 0 },
    START_TASTE,
    { model: "hf-hub:a/b & c", example: "red-panda", untrained: "1", size: "24x40" },
    shape,
  );
  const url = new URL(href);
  assert.equal(url.searchParams.get("model"), "hf-hub:a/b & c");
  assert.equal(url.searchParams.get("example"), "red-panda");
  assert.equal(url.searchParams.get("untrained"), "1");
  assert.equal(url.searchParams.get("size"), "24x40");
  assert.equal(url.searchParams.get("__theme"), "dark");
  assert.equal(url.searchParams.get("x"), "1");
  assert.equal(url.hash, "#top");
  assert.equal(url.searchParams.get("token"), null, "nothing is pinned any more");
  const own = new URL(writeLink(href, start, START_TASTE, { model: "m" }, shape));
  assert.equal(own.searchParams.get("example"), null, "the name of the picture before is gone");
  assert.equal(own.searchParams.get("untrained"), null);
  assert.equal(own.searchParams.get("size"), null, "a size belongs to the model before");
});

test("an address can say anything", () => {
  const asked = readLink(
    "http://x/?token=-1&layer=99&head=mean&panel=<b>&scale=1&colours=jet&residual=2&layer=3" +
      "&moment=first&mosaic=4&order=size&units=&lens=logit&x=1&pinned=true&opacity=7&lent=1&projector=1&grid=no",
    PANELS,
  );
  assert.deepEqual(validSelection(complete(asked, start, shape), start, shape), start);
  assert.deepEqual(validTaste(asked), START_TASTE);
  assert.deepEqual(readLink("http://x/", PANELS), {});
});

test("taste is remembered, and a damaged or refused memory is none", () => {
  const kept = new Map();
  const opened = storageOf(kept);
  assert.deepEqual(recall(opened), {});
  remember(opened, { colours: "magma" });
  remember(opened, { opacity: 0.4, language: "ko" });
  assert.deepEqual(recall(opened), { colours: "magma", opacity: 0.4, language: "ko" });
  for (const text of ["{", "null", "7", '"x"']) {
    kept.set("vitviz-taste", text);
    assert.equal(typeof recall(opened), "object");
    assert.deepEqual(validTaste(recall(opened)), START_TASTE);
  }
  const refused = () => {
    throw new DOMException("denied", "SecurityError");
  };
  assert.deepEqual(recall(refused), {});
  remember(refused, { colours: "magma" });
});

test("what the spotlight falls on is in the link of a spotlight, and in no other", () => {
  const sightOf = (taste) =>
    new URL(writeLink("http://x/", start, { ...START_TASTE, ...taste }, {}, shape)).searchParams.get("sight");
  const viridis = { colours: "viridis" };
  assert.deepEqual(
    [
      viridis,
      { colours: "spotlight" },
      { colours: "spotlight", sight: "model" },
      { ...viridis, sight: "model" },
    ].map(sightOf),
    [null, "photograph", "model", null],
  );
  const taste = { ...START_TASTE, colours: "spotlight", sight: "model" };
  assert.deepEqual(roundTrip(start, taste)[1], taste);
  assert.equal(validTaste({ sight: "x-ray" }).sight, "photograph");
});

test("a link holds the language, and what a pinned token was compared with", () => {
  const linkOf = (selection, more) => new URL(writeLink(HREF, selection, START_TASTE, {}, shape, more));
  const pinned = { ...start, token: 3, pinned: true };
  const both = linkOf(pinned, { lang: "ko", with: 5 });
  assert.deepEqual(readLink(both.href, PANELS).with, 5);
  assert.equal(both.searchParams.get("lang"), "ko");
  assert.equal(linkOf(start, { with: 5 }).searchParams.get("with"), null, "nothing is pinned");
  assert.equal(linkOf(pinned, { with: null }).searchParams.get("with"), null);
});

test("names in a link that are not here are told, and those that are, or are not named, are not", () => {
  const origin = { model: "photos", example: "cat" };
  const of = (query) => unknownNames("http://a/?" + query, origin, PANELS);
  assert.deepEqual(of("panel=rollouts&model=vit&example=dogs&layer=1"), ["rollouts", "vit", "dogs"]);
  assert.deepEqual(of("panel=rollout&model=photos&example=cat"), []);
  assert.deepEqual(of("lesson=ask"), []);
  assert.deepEqual(unknownNames("http://a/?example=cat", { model: "photos" }, PANELS), ["cat"]);
});

test("a link that was made beside an own photo says so where an example is shown in its place", () => {
  const linkOf = (origin) => writeLink(HREF, start, START_TASTE, origin, shape);
  const own = linkOf({ model: "photos" });
  assert.equal(lacksPhoto(own, { example: "cat" }), true);
  assert.equal(lacksPhoto(own, {}), false, "a reload has the photo");
  const example = writeLink(own, start, START_TASTE, { model: "photos", example: "cat" }, shape);
  assert.equal(lacksPhoto(example, { example: "cat" }), false, "the example was chosen since");
  assert.equal(new URL(linkOf({})).searchParams.get("photo"), null, "a page of one analysis");
});
