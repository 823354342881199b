/** Memory of a browser: pages in two tabs keep each other's guesses and records. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { guessBook, recordBook } from "../../vitviz/viewer/state/memory.js";
import { storageOf } from "./fixture.js";

test("guesses of two tabs stand beside each other, and each forgets its own", () => {
  const storage = storageOf();
  const [one, other] = [guessBook(storage), guessBook(storage)];
  one.keep("ask/one", { guess: 1 });
  other.keep("ask/two", { guess: 2 });
  assert.deepEqual(guessBook(storage).of("ask"), { "ask/one": { guess: 1 }, "ask/two": { guess: 2 } });
  one.keep("ask/one", { guess: 3 });
  other.keep("ask/two", undefined);
  assert.deepEqual(guessBook(storage).of("ask"), { "ask/one": { guess: 3 } });
  one.keep("ask/one", undefined);
  other.keep("ask/three", { guess: 4 });
  assert.deepEqual(guessBook(storage).of("ask"), { "ask/three": { guess: 4 } }, "a forgotten one stays so");
});

test("guesses that are forgotten are the oldest, and never the self-check or what a class agreed on", () => {
  const book = guessBook(storageOf());
  const lasting = ["check/kept2", "class/polls", "class/since", "class/began"];
  for (const key of [...lasting, "class/guessed/0", "ask/first/photos/dog.jpg"]) book.keep(key, { guess: 1 });
  for (let at = 0; at < 500; at++) book.keep(`ask/one/photos/${at}.jpg`, { guess: at });
  assert.deepEqual(
    lasting.filter((key) => book.recall(key) === undefined),
    [],
  );
  assert.equal(book.recall("ask/first/photos/dog.jpg"), undefined);
  assert.equal(book.recall("class/guessed/0"), undefined);
  assert.equal(Object.keys(book.of("ask")).length, 400 - lasting.length);
});

test("of the records of two tabs the better one is kept", () => {
  const storage = storageOf();
  const [one, other] = [recordBook(storage), recordBook(storage)];
  assert.equal(one.best("dog", 5), 5);
  assert.equal(other.best("cat", 7), 7);
  assert.equal(recordBook(storage).best("dog", null), 5);
  assert.equal(other.best("dog", 9), 5);
  assert.equal(other.best("dog", 4), 4);
  assert.equal(one.best("cat", 8), 7);
  const all = recordBook(storage);
  assert.deepEqual([all.best("dog", null), all.best("cat", null)], [4, 7]);
});

test("without storage guesses and records last as long as the page", () => {
  const refused = () => {
    throw new Error("no storage");
  };
  const [guesses, records] = [guessBook(refused), recordBook(refused)];
  guesses.keep("ask/one", { guess: 1 });
  guesses.keep("ask/two", { guess: 2 });
  assert.deepEqual(guesses.of("ask"), { "ask/one": { guess: 1 }, "ask/two": { guess: 2 } });
  records.best("dog", 5);
  records.best("cat", 5);
  assert.deepEqual([records.best("dog", 6), records.best("cat", null)], [5, 5]);
});
