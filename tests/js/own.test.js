/** A visitor's own things: the set of pictures, and the file of the model that learned them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Core } from "../../vitviz/viewer/engine/core.js";
import { readModel } from "../../vitviz/viewer/engine/weights.js";
import { sharesOf } from "../../vitviz/viewer/learn/linearhead.js";
import { parseSafetensors, readMetadata, toFloat32 } from "../../vitviz/viewer/maths/safetensors.js";
import { softmax } from "../../vitviz/viewer/maths/outputs.js";
import { cardOf, templateOf } from "../../vitviz/viewer/play/owncard.js";
import { checkpointOf, mirrored } from "../../vitviz/viewer/play/ownmodel.js";
import { beforeTraining, fieldsOf } from "../../vitviz/viewer/play/owntrunks.js";
import { MOST_PICTURES, MOST_THINGS, NONE, OwnSet } from "../../vitviz/viewer/play/ownset.js";

const file = new Uint8Array(readFileSync(new URL("../../weights/photos.safetensors", import.meta.url)));
const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
const known = () => ({
  facts: /** @type {any} */ (null),
  described: JSON.parse(readMetadata(buffer).vitviz),
  tensors: parseSafetensors(buffer),
});
let made = 0;
const picture = (group = 0) => ({ group, pixels: Uint8Array.from([++made, made >> 8, 0]), file: null });

/** @param {OwnSet} set @param {number} thing @param {number} count */
function fill(set, thing, count) {
  for (let at = 0; at < count; at++) set.add(set.things[thing], picture(set.group()));
}

test("a set begins with two things without names, and takes as many pictures as there is room for", () => {
  const set = new OwnSet();
  const unnamed = (place) => "Thing " + place;
  assert.deepEqual(set.names(unnamed), ["Thing 1", "Thing 2"]);
  fill(set, 0, MOST_PICTURES + 3);
  assert.deepEqual([set.count, set.room], [MOST_PICTURES, 0]);
  for (let at = 0; at < 9; at++) set.more();
  assert.equal(set.things.length, MOST_THINGS);
  set.things[1].name = set.things[3].name = "cup";
  set.things[4].name = "Thing 1";
  assert.deepEqual(set.names(unnamed), ["Thing 1", "cup", "Thing 3", "cup 2", "Thing 1 2"]);
});

test("what was taken away last comes back to its place, while there is room", () => {
  const set = new OwnSet();
  fill(set, 0, 3);
  const [first, second] = set.things;
  const [, middle] = first.pictures;
  set.drop(first, middle);
  assert.equal(set.count, 2);
  assert.ok(set.canUndo && set.undo());
  assert.equal(first.pictures[1], middle);
  set.remove(first); // two rows always stay
  assert.deepEqual([set.things.length, set.things[1], set.count], [2, second, 0]);
  second.pictures.push(...first.pictures, ...Array(MOST_PICTURES - 5).fill(middle));
  assert.ok(!set.undo()); // 98 + 3
  second.pictures.pop();
  assert.ok(set.undo());
  set.more();
  set.remove(set.things[2]);
  assert.equal(set.things.length, 2);
  assert.ok(set.undo());
  assert.equal(set.things.length, 3);
});

test("pictures that came together go together, the last ones first", () => {
  const set = new OwnSet();
  const [cup, pen] = set.things;
  let value = 0;
  const add = (thing, batch, group = set.group()) =>
    set.add(thing, { group, pixels: Uint8Array.of(++value), file: null }, batch);
  const [files, more] = [[], []];
  for (const batch of [files, files, files]) add(cup, batch);
  const burst = set.group();
  for (let shot = 0; shot < 4; shot++) add(pen, undefined, burst);
  add(cup, more);
  set.drop(cup, cup.pictures[0]);
  add(pen, more); // the same files on another row
  const counts = () => [cup.pictures.length, pen.pictures.length];
  const found = [counts()];
  while (set.canUndo) {
    assert.ok(set.undo());
    found.push(counts());
  }
  assert.deepEqual(found, [
    [3, 5],
    [3, 4],
    [4, 4],
    [3, 4],
    [3, 0],
    [0, 0],
  ]);
  assert.ok(!set.undo());
});

test("an empty row is no class, and a picture of a thing that was taken away comes too late", () => {
  const set = new OwnSet();
  set.more();
  fill(set, 0, 1);
  fill(set, 2, 2);
  const { things, labels, pictures } = set.content();
  assert.deepEqual([things, labels, pictures.length], [[set.things[0], set.things[2]], [0, 1, 1], 3]);
  const [gone] = set.things;
  set.remove(gone);
  assert.equal(set.add(gone, picture()), false);
});

test("the same picture twice in a thing is one group, and of two things it is none", () => {
  const set = new OwnSet();
  const [one, other] = set.things;
  const same = picture(set.group());
  for (const thing of [one, one]) set.add(thing, { ...same, group: set.group() });
  const groups = set.content().pictures.map(({ group }) => group);
  assert.equal(groups[0], groups[1]);
  assert.equal(set.elsewhere(other, same.pixels), one);
  assert.equal(set.elsewhere(one, same.pixels), undefined);
  assert.equal(set.elsewhere(other, picture().pixels), undefined);
});

test("what was kept comes back, with groups of its own, and all can be taken away and back", () => {
  const set = new OwnSet();
  fill(set, 1, 3);
  set.things[1].name = "cup";
  const kept = set.things.map(({ name, pictures }) => ({ name, pictures: [...pictures] }));
  const later = new OwnSet();
  assert.ok(later.isEmpty);
  later.restore(kept);
  assert.deepEqual(later.names(String), ["1", "cup"]);
  const groups = later.content().pictures.map(({ group }) => group);
  assert.ok(groups.length === 3 && !groups.includes(later.group()));
  later.clear();
  assert.ok(later.isEmpty && later.things.length === 2);
  assert.ok(later.undo());
  assert.deepEqual([later.count, later.things[1].name], [3, "cup"]);
  later.clear();
  later.things[0].name = "pen";
  assert.ok(later.undo()); // something new stands there, and changes places with it
  assert.deepEqual([later.count, later.names(String)], [3, ["1", "cup"]]);
  assert.ok(later.undo());
  assert.deepEqual([later.count, later.things[0].name], [0, "pen"]);
});

test("what was taken away is never lost by a second press, by a new picture, or for want of room", () => {
  const set = new OwnSet();
  fill(set, 0, 2);
  set.card.purpose = "cups";
  set.clear();
  assert.deepEqual([set.count, set.card.purpose], [0, ""]);
  set.clear(); // pressed twice
  fill(set, 1, 1);
  assert.ok(set.undo() && set.undo());
  assert.deepEqual([set.count, set.card.purpose], [2, "cups"]);
  const { pictures } = set.things[0];
  set.drop(set.things[0], pictures[0]);
  set.things[1].pictures.push(...Array(MOST_PICTURES - 1).fill(pictures[0]));
  assert.ok(!set.undo()); // there is no room
  set.things[1].pictures.pop();
  assert.ok(set.canUndo && set.undo());
  assert.equal(set.count, MOST_PICTURES);
  const card = new OwnSet();
  card.card.purpose = "cups";
  assert.ok(!card.isEmpty);
  card.clear();
  assert.ok(card.isEmpty && card.undo() && card.card.purpose === "cups");
});

test("a mirror image has each row from right to left, and its colours as they were", () => {
  const pixels = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]); // 2 rows, 2 columns, 3 colours
  assert.deepEqual([...mirrored(pixels, 2, 3)], [4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9]);
  assert.deepEqual(mirrored(mirrored(pixels, 2, 3), 2, 3), pixels);
});

test("pixels alone are the means of twelve by twelve fields", () => {
  // 24 x 36 pixels: fields of 2 x 3, whose values are their row of fields.
  const pixels = Uint8Array.from({ length: 24 * 36 }, (_, at) => Math.floor(Math.floor(at / 36) / 2));
  const fields = fieldsOf(pixels, { height: 24, width: 36, channels: 1 });
  assert.equal(fields.length, 144);
  fields.forEach((value, at) => assert.ok(Math.abs(value - Math.floor(at / 12) / 255) < 1e-7));
  // Where sides are no multiples, neighbouring fields share pixels: of 13 columns the second has 1 and 2.
  const row = Uint8Array.from({ length: 13 * 12 }, (_, at) => at % 13);
  assert.ok(Math.abs(fieldsOf(row, { height: 12, width: 13, channels: 1 })[1] - 1.5 / 255) < 1e-7);
});

test("before its training the model has the random weights of Python", () => {
  const tensors = parseSafetensors(beforeTraining(known()));
  // load("photos", pretrained=False).vit.state_dict(): the first numbers
  const first = {
    "patch_embed.proj.weight": [0.091995, 0.062441, 0.139175],
    "blocks.0.attn.qkv.weight": [0.014086, 0.019615, 0.000908],
    "blocks.5.mlp.fc2.weight": [0.029273, -0.033199, 0.022472],
    cls_token: [0.021974, -0.003381, -0.009488],
    pos_embed: [-0.011913, 0.023425, 0.028206],
  };
  for (const [name, numbers] of Object.entries(first)) {
    const found = [...toFloat32(tensors[name]).slice(0, 3)];
    found.forEach((number, at) => assert.ok(Math.abs(number - numbers[at]) < 1e-6, name));
  }
  assert.ok(!Object.keys(tensors).some((name) => name.startsWith("head.")));
});

test("without its head the trunk gives the vector, and the file with the new head answers as the head does", () => {
  const core = new Core();
  const trunk = core.load(checkpointOf(known(), null));
  assert.deepEqual([trunk.config.num_classes, trunk.labels, trunk.unknown], [0, null, []]);
  const seen = Uint8Array.from({ length: 72 * 72 * 3 }, (_, at) => (at * 37) % 256);
  const vector = core.run({ picture: seen, answer: true }).logits;
  assert.equal(vector.length, 192);
  // The head that the model came with reads this vector.
  const { logits } = (core.load(buffer), core.run({ picture: seen, answer: true }));
  const { tensors } = known();
  const [weight, bias] = ["head.weight", "head.bias"].map((name) => toFloat32(tensors[name]));
  logits.forEach((logit, k) => {
    const sum = vector.reduce((total, x, i) => total + x * weight[k * 192 + i], bias[k]);
    assert.ok(Math.abs(sum - logit) < 1e-4);
  });
  const head = {
    weight: Float64Array.from({ length: 2 * 192 }, (_, at) => Math.sin(at)),
    bias: Float64Array.from([0.5, -0.5]),
  };
  const labels = ["cup", "연필"];
  const made = checkpointOf(known(), { head, labels, details: { title: "cup" } });
  assert.deepEqual(readModel(made).labels, labels);
  core.load(made);
  const answers = softmax(core.run({ picture: seen, answer: true }).logits, 1);
  sharesOf(head, vector).forEach((share, at) => assert.ok(Math.abs(share - answers[at]) < 1e-5));
  assert.ok(made.byteLength < buffer.byteLength + 1000); // the trunk keeps its 16 bits
});

test("pictures of none of the things are a row of their own, the last, beside five things", () => {
  const set = new OwnSet();
  set.others();
  set.others();
  for (let at = 0; at < 9; at++) set.more();
  assert.deepEqual([set.named, set.things.length], [MOST_THINGS, MOST_THINGS + 1]);
  assert.equal(set.none, set.things[MOST_THINGS]);
  [set.things[0].name, set.things[1].name] = ["없음", "none of these"];
  assert.deepEqual(set.names(String, "없음"), ["없음 2", "none of these 2", "3", "4", "5", "없음"]);
  fill(set, MOST_THINGS, 2);
  assert.equal(set.content().none, 0);
  fill(set, 0, 1);
  const { none, labels } = set.content();
  assert.deepEqual([none, labels], [1, [0, 1, 1]]);
  const [row] = set.things.splice(MOST_THINGS, 1);
  set.things.push(row);
  set.remove(row);
  assert.deepEqual([set.none, set.content().none, set.count], [undefined, undefined, 1]);
  set.others(); // another one stands there
  assert.ok(!set.undo());
  set.remove(/** @type {any} */ (set.none));
  assert.ok(set.undo() && set.none);
  const later = new OwnSet();
  later.restore(set.things.slice(MOST_THINGS));
  assert.deepEqual([later.named, later.things.length, later.none], [2, 3, later.things[2]]);
});

test("the row of none of the things comes back as the last one", () => {
  const set = new OwnSet();
  set.others();
  set.remove(/** @type {any} */ (set.none));
  set.more();
  assert.ok(set.undo());
  assert.deepEqual(
    set.things.map(({ none }) => Boolean(none)),
    [false, false, false, true],
  );
});

test("the class of none of the things is in the card and in the file, by its name in each language", () => {
  const head = { weight: new Float64Array(2 * 192), bias: new Float64Array(2) };
  const made = checkpointOf(known(), { head, labels: ["cup", NONE], details: {} });
  const told = JSON.parse(readMetadata(made).vitviz);
  assert.deepEqual([told.labels[1], told.words], [NONE, { ko: { labels: { [NONE]: "이 가운데 없음" } } }]);
  const plain = checkpointOf(known(), { head, labels: ["cup", "pen"], details: {} });
  assert.deepEqual(JSON.parse(readMetadata(plain).vitviz).words, {});
});

test("the card has the counts, the threshold, and the pictures that were taken for another thing", () => {
  const set = new OwnSet();
  fill(set, 0, 2);
  fill(set, 1, 2);
  /** @type {any} */
  const found = {
    ...set.content(),
    shares: [[0.9, 0.1], [0.2, 0.8], null, [0.4, 0.6]],
    confusions: [
      [1, 1],
      [0, 1],
    ],
    threshold: 0.6,
    pair: { classes: [0, 1], times: 1, pictures: [1, 3] },
  };
  const details = cardOf(found, ["cup", "pen"], "photos");
  assert.equal(details.title, "cup, pen");
  assert.deepEqual(JSON.parse(details.others), { score: "largest probability", threshold: 0.6 });
  // The trunk's name and address on a host are not those of the new head.
  const trunk = {
    embed_dim: 8,
    pool: "token",
    num_classes: 3,
    num_parameters: 100,
    explainers: [],
    steps: [],
  };
  const template = { model: { ...trunk, in_page: "photos", weights: "https://host/a" }, pass: {}, files: {} };
  const own = { key: "own-1", file: "own.safetensors", labels: ["cup", "pen"], details, found };
  const { model } = templateOf(/** @type {any} */ (template), own);
  assert.deepEqual([model.in_page, model.weights, model.num_parameters], [null, undefined, 91]);
  assert.equal(details.accuracy, "2 of 3 pictures right, each answered by a head that had not seen it");
  assert.deepEqual(JSON.parse(details.taught), {
    base: "photos",
    pictures: [2, 2],
    penalty: 0.03,
    confusions: found.confusions,
    none: null,
    confused: [{ picture: "cup 2", label: 0, answer: 1, probability: 0.8 }],
    pair: [
      { picture: "cup 2", label: 0, answer: 1, probability: 0.8 },
      { picture: "pen 2", label: 1, answer: 0, probability: 0.4 },
    ],
  });
  const none = cardOf(
    {
      ...found,
      threshold: null,
      pair: null,
      confusions: [
        [0, 0],
        [0, 0],
      ],
    },
    ["cup", "pen"],
    "photos",
  );
  assert.ok(!("others" in none) && !("accuracy" in none));
  assert.deepEqual(JSON.parse(none.taught).pair, []);
});
