/** A visitor's own things as a file: what is written is read again, and anything else is refused in a sentence. */

import assert from "node:assert/strict";
import test from "node:test";

import { writeSafetensors } from "../../vitviz/viewer/maths/safetensors.js";
import { SetError, openSet, setFile } from "../../vitviz/viewer/play/ownfile.js";
import { writtenOf } from "../../vitviz/viewer/play/ownpapers.js";
import { MOST_PICTURES, MOST_THINGS, NONE, OwnSet } from "../../vitviz/viewer/play/ownset.js";
import { textsIn } from "../../vitviz/viewer/play/texts.js";

const IMAGE = { height: 2, width: 3, channels: 3 };
const say = textsIn("en");

/** @param {number} value */
const picture = (value, group = value) => ({
  group,
  pixels: Uint8Array.from({ length: 18 }, (_, at) => value + at),
  file: null,
});

/** A set of two things: two pictures of one go, and one; the third row is empty. */
function small() {
  const set = new OwnSet();
  set.more();
  const [cup, pen] = set.things;
  [cup.name, pen.name] = ["cup", "연필"];
  const go = set.group();
  for (const value of [10, 40]) set.add(cup, picture(value, go));
  set.add(pen, picture(80, set.group()));
  return set;
}

/** @param {ArrayBuffer|Uint8Array} bytes */
const fileOf = (bytes, name = "mine.safetensors") => new File([/** @type {any} */ (bytes)], name);

/** A file with this description and so many pictures, of which no two are alike. */
function made(told, count, { shape = [2, 3, 3], dtype = Uint8Array } = {}) {
  const size = shape.reduce((product, side) => product * side, 1);
  const data = dtype.from({ length: count * size }, (_, at) => (Math.floor(at / size) * 2 + at * at) % 251);
  const tensors = { pictures: { shape: [count, ...shape], data } };
  return fileOf(
    writeSafetensors(tensors, { vitviz_set: typeof told === "string" ? told : JSON.stringify(told) }),
  );
}

const things = (...all) => ({ version: 1, things: all.map(([name, ...groups]) => ({ name, groups })) });

/** @param {File} file */
async function refusal(file, image = IMAGE, language = "en") {
  try {
    await openSet(file, image, textsIn(language));
  } catch (error) {
    assert.ok(error instanceof SetError, String(error));
    return error.message;
  }
  return assert.fail("it was taken");
}

test("a set is written with names, groups and pixels, and comes back; an empty row is not in it", async () => {
  const set = small();
  set.card.purpose = "to tell <b>cups</b>";
  const file = fileOf(setFile(set, ["cup", "연필", "Thing 3"], IMAGE));
  const { things: found, card } = await openSet(file, IMAGE, say);
  assert.deepEqual(card, { purpose: "to tell <b>cups</b>", pictures_from: "", not_for: "" });
  assert.deepEqual(writtenOf(card), { purpose: "to tell <b>cups</b>" });
  const plain = set.things.slice(0, 2).map(({ name, pictures }) => ({
    name,
    none: false,
    pictures: pictures.map(({ group, pixels }) => ({ group, pixels, file: null })),
  }));
  assert.deepEqual(found, plain);
  set.others();
  const none = /** @type {any} */ (set.none);
  set.add(none, picture(120, set.group()));
  const { things: more } = await openSet(fileOf(setFile(set, ["cup", "연필", "3", NONE], IMAGE)), IMAGE, say);
  assert.deepEqual(more.slice(0, 2), plain);
  assert.deepEqual([more.length, more[2].none, more[2].name, more[2].pictures.length], [3, true, "", 1]);
});

test("a set that is opened takes the place of the present one, and undo exchanges the two", async () => {
  const [set, other] = [small(), new OwnSet()];
  other.things[1].name = "key";
  for (const value of [100, 101, 102]) other.add(other.things[1], picture(value, other.group()));
  set.card.purpose = "mine";
  set.replace(other.things.slice(1), { purpose: "theirs" }); // of one thing; two rows always stay
  assert.deepEqual([set.card.purpose, set.card.not_for], ["theirs", ""]);
  assert.deepEqual([set.names(String), set.count], [["key", "2"], 3]);
  const group = set.group();
  assert.ok(set.canUndo && set.undo());
  assert.deepEqual([set.names(String), set.count], [["cup", "연필", "3"], 3]);
  assert.equal(set.card.purpose, "mine");
  assert.ok(set.group() > group && group > 3, "a new group is nobody's");
  assert.ok(set.undo() && set.things[0].name === "key");
});

test("what is no set of the page is refused, and says why", async () => {
  const good = things(["cup", 1, 2], ["pen", 3]);
  assert.equal((await openSet(made(good, 3), IMAGE, say)).things.length, 2);
  for (const card of [null, [1], "x", { other: "" }, { purpose: 1 }, { purpose: "x".repeat(301) }])
    assert.match(await refusal(made({ ...good, card }, 3)), /damaged/);
  const other = "mine.safetensors is not a set that was saved here.";
  const broken = "mine.safetensors is a set, but it is damaged or cut off. Copy or save it once more.";
  const whole = new Uint8Array(setFile(small(), ["cup", "연필", ""], IMAGE));
  for (const bytes of [new Uint8Array(3), new Uint8Array(99), whole.slice(0, 60)])
    assert.equal(await refusal(fileOf(bytes)), other);
  assert.equal(await refusal(fileOf(writeSafetensors({}, { vitviz: "{}" }))), other);
  assert.equal(await refusal(fileOf(whole.slice(0, whole.length - 1))), broken);
  for (const told of ["", "{", "null", "[]", '{"version":1}', '{"version":2,"things":[]}'])
    assert.equal(await refusal(made(told, 3)), broken);
  for (const wrong of [
    { name: 1, groups: [] },
    { name: "a" },
    { name: "a", groups: [1.5, 2, 3] },
    { name: "a", groups: [1, 2, 2e9] },
    null,
  ])
    assert.equal(await refusal(made({ version: 1, things: [wrong] }, 3)), broken);
  assert.equal(await refusal(made(good, 4)), broken); // one more than are named
  assert.equal(await refusal(made(good, 3, { dtype: /** @type {any} */ (Float32Array) })), broken);
});

test("a set of other pictures, with too much, or with names that nobody can read is refused", async () => {
  const good = things(["cup", 1, 2], ["pen", 3]);
  assert.equal(
    await refusal(made(good, 3, { shape: [28, 28, 1] })),
    "The pictures in mine.safetensors have 28 × 28 × 1 numbers (height × width × colours), and the model here " +
      "sees 2 × 3 × 3. Open the model that the set was made with, and come back.",
  );
  const many = Array.from({ length: MOST_PICTURES + 1 }, (_, at) => at);
  const full = "mine.safetensors has 101 pictures; at most 100 fit here.";
  assert.equal(await refusal(made(things(["cup", ...many]), many.length)), full);
  const six = Array.from({ length: MOST_THINGS + 1 }, (_, at) => ["thing " + at]);
  assert.equal(await refusal(made(things(...six), 0)), "mine.safetensors has 6 things; at most 5 fit here.");
  for (const name of ["", "  ", "a\u0000b", "a\u202eb", "a\nb", "\u00a0", "a".repeat(41)])
    assert.match(
      await refusal(made(things([name, 1]), 1)),
      /^A name in mine.safetensors is empty, longer than 40/,
    );
  const set = small();
  const [cup, pen] = set.things;
  pen.pictures.push({ ...cup.pictures[1] });
  const twice = fileOf(setFile(set, ["cup", "pen", ""], IMAGE));
  assert.match(await refusal(twice), /the same picture in two things/);
  const same = things(["cup", 1], ["cup", 2]);
  assert.match(await refusal(made(same, 2)), /damaged/);
  assert.match(await refusal(twice, IMAGE, "ko"), /같은 사진이 있습니다/);
});
