/** Own taking: what is said of pictures that come together, where some of them cannot be taken. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { MOST_PICTURES, OwnSet } from "../../vitviz/viewer/play/ownset.js";
import { createTaking } from "../../vitviz/viewer/play/owntaking.js";
import { textsIn } from "../../vitviz/viewer/play/texts.js";

const PNG = [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];
const SIZE = [0, 0, 0, 9, 0, 0, 0, 9, 8, 2, 0, 0, 0];
const pictureOf = (number) => new File([new Uint8Array([...PNG, ...SIZE, number])], number + ".png");
const noPicture = (name) => new File(["hello"], name);

beforeEach(() => {
  globalThis.createImageBitmap = /** @type {any} */ (
    async (file) => ({ width: 9, height: 9, close() {}, id: new Uint8Array(await file.arrayBuffer()).at(-1) })
  );
});
afterEach(() => {
  delete globalThis.createImageBitmap;
});

/** The ways to take pictures for a set; `now.said` is what the page says. */
function taking() {
  const set = new OwnSet();
  set.things[0].name = "cup";
  const now = { said: "" };
  const ways = createTaking({
    trunk: /** @type {any} */ ({
      tools: { said: ({ key, values }) => ({ en: key + " " + values.name + "." }) },
    }),
    set,
    model: /** @type {any} */ ({ see: async ({ id }) => Uint8Array.from([id]) }),
    live: /** @type {any} */ (null),
    picture: async () => null,
    nameOf: ({ name }) => name,
    say: textsIn("en"),
    language: () => "en",
    hear: (text) => {
      now.said = text;
    },
    change(task) {
      now.said = "";
      task();
    },
  });
  return { set, now, ...ways };
}

test("a picture that another thing has is named at the end, also where others were taken after it", async () => {
  const { set, now, files } = taking();
  await files(set.things[0], [pictureOf(1)]);
  assert.equal(now.said, "");
  await files(set.things[1], [pictureOf(1), pictureOf(2)]);
  assert.deepEqual(
    [set.things[1].pictures.length, now.said.startsWith("This picture is one of cup")],
    [1, true],
  );
});

test("all reasons are said at once, and a file that is refused takes nobody's place", async () => {
  const { set, now, files } = taking();
  await files(set.things[0], [pictureOf(200)]);
  const many = Array.from({ length: MOST_PICTURES }, (_, at) => pictureOf(at));
  await files(set.things[1], [noPicture("a.txt"), noPicture("b.txt"), pictureOf(200), ...many]);
  assert.equal(set.count, MOST_PICTURES);
  for (const part of [
    /no_picture 'a\.txt'/,
    /with 1 more files/,
    /one of cup/,
    /room for 100 .* 1 more were/,
  ])
    assert.match(now.said, part);
});
