/** Photos of a tab stay in the browser, also over http, where no locks tell which tabs are open. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Database, oneAfterTheOther } from "../../vitviz/viewer/data/database.js";
import { createKept } from "../../vitviz/viewer/play/ownkept.js";
import { OwnSet } from "../../vitviz/viewer/play/ownset.js";

const NAMES = ["navigator", "window", "document", "sessionStorage", "localStorage", "indexedDB"];
const kept = Object.fromEntries(
  [...NAMES, "BroadcastChannel"].map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]),
);
const define = (fields) => {
  for (const [name, value] of Object.entries(fields))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
};

class Storage {
  getItem(name) {
    return this[name] ?? null;
  }

  setItem(name, value) {
    this[name] = String(value);
  }

  removeItem(name) {
    delete this[name];
  }
}

/** A database of one table, whose requests are answered by and by. */
function fakeDatabase() {
  const rows = new Map();
  const idle = { put: () => ({}), delete: () => ({}), openCursor: () => ({}) };
  const made = {
    rows,
    busy: false,
    room: (/** @type {any} */ row) => Boolean(row),
    open: () => later({}, base),
  };
  const later = (request, result) => {
    Promise.resolve().then(() => {
      request.result = result;
      request.onsuccess?.({ target: request });
    });
    return request;
  };
  const table = {
    put: (row) => later({}, rows.set(row.id, row)),
    delete: (id) => later({}, rows.delete(id)),
    openCursor() {
      const [request, ids] = [/** @type {any} */ ({}), [...rows.keys()]];
      const next = () => {
        const id = ids.shift();
        const cursor = { value: rows.get(id), delete: () => rows.delete(id), continue: next };
        later(request, id === undefined ? null : cursor);
      };
      next();
      return request;
    },
  };
  const base = {
    transaction() {
      const { busy } = made;
      let full = false;
      const put = (row) => {
        full = !made.room(row);
        return full ? {} : table.put(row);
      };
      const transaction = /** @type {any} */ ({ objectStore: () => (busy ? idle : { ...table, put }) });
      if (!busy) setTimeout(() => transaction[full ? "onabort" : "oncomplete"]?.({}), 0);
      return transaction;
    },
  };
  return made;
}

let shared = /** @type {any} */ (null);
beforeEach(() => {
  shared = { tabs: [], local: new Storage(), database: fakeDatabase() };
});
afterEach(() => {
  for (const [name, was] of Object.entries(kept))
    if (was) Object.defineProperty(globalThis, name, was);
    else delete globalThis[name];
});

/** A tab of the browser, which does all that follows until another is opened or looked at. */
function tab() {
  const heard = {};
  const made = {
    session: new Storage(),
    channels: /** @type {any[]} */ ([]),
    suspended: false,
    document: { hidden: false },
    /** Becomes the tab whose code runs. */
    here() {
      define({
        navigator: {},
        window: { addEventListener: (type, hear) => (heard[type] ??= []).push(hear) },
        document: made.document,
        sessionStorage: made.session,
        localStorage: shared.local,
        indexedDB: shared.database,
        BroadcastChannel: class {
          constructor() {
            made.channels.push(this);
          }

          postMessage(data) {
            for (const other of shared.tabs)
              if (other !== made && !other.suspended)
                for (const one of other.channels) Promise.resolve().then(() => one.onmessage?.({ data }));
          }
        },
      });
      return made;
    },
    send(...types) {
      made.here();
      for (const type of types) heard[type]?.forEach((hear) => hear({ type }));
    },
    /** Another app is looked at, or another tab: a phone suspends it. */
    rest() {
      made.document.hidden = true;
      made.send("visibilitychange");
      made.suspended = true;
    },
    wake() {
      made.document.hidden = false;
      made.suspended = false;
      made.send("visibilitychange");
    },
    close() {
      made.send("pagehide");
      made.document.hidden = true;
      made.send("visibilitychange");
      shared.tabs = shared.tabs.filter((one) => one !== made);
    },
    /** Reads what is kept for this tab, as when it is opened or loaded again. */
    async load() {
      made.here();
      made.channels = [];
      const found = /** @type {string[]} */ ([]);
      const database = new Database();
      await database.read(({ id }) => found.push(id));
      return { found, database };
    },
  };
  shared.tabs.push(made);
  return made;
}

/** A tab that keeps a photo of this name. */
async function keeping(id) {
  const one = tab();
  const { database } = await one.load();
  await database.put({ id });
  return one;
}

const ids = () => [...shared.database.rows.keys()];

test("the photo of a tab that is suspended stays for it, and that of a closed one is deleted", async () => {
  const [resting, closed, open] = [await keeping("resting"), await keeping("closed"), await keeping("open")];
  resting.rest();
  closed.close();
  assert.deepEqual((await tab().load()).found, []);
  assert.deepEqual(ids(), ["resting", "open"]);
  resting.wake();
  assert.deepEqual((await resting.load()).found, ["resting"]);
  assert.deepEqual((await open.load()).found, ["open"]);
});

test("a tab that was killed while it rested finds its photo, and leaves no mark behind", async () => {
  const one = await keeping("a");
  one.rest();
  await tab().load();
  one.document.hidden = one.suspended = false;
  assert.deepEqual((await one.load()).found, ["a"]);
  assert.deepEqual(Object.keys(shared.local), []);
  one.close();
  await tab().load();
  assert.deepEqual(ids(), []);
});

test("what a resting tab keeps, and that it rests, is gone after an hour", async (context) => {
  const one = await keeping("a");
  one.rest();
  const now = Date.now() + 3_600_001;
  context.mock.method(Date, "now", () => now);
  await tab().load();
  assert.deepEqual([ids(), Object.keys(shared.local)], [[], []]);
});

test("what an open tab keeps is gone for itself, too, after an hour", async (context) => {
  const one = await keeping("a");
  const now = Date.now();
  context.mock.method(Date, "now", () => now + 3_599_000);
  assert.deepEqual((await one.load()).found, ["a"]);
  context.mock.restoreAll();
  context.mock.method(Date, "now", () => now + 3_602_000);
  assert.deepEqual([(await one.load()).found, ids()], [[], []]);
});

test("work that is asked for while it runs runs once more, and once again after a failure", async () => {
  const ends = /** @type {any[]} */ ([]);
  const write = oneAfterTheOther(() => new Promise((done, fail) => ends.push({ done, fail })));
  const turn = () => new Promise((done) => setTimeout(done, 0));
  const first = write();
  for (let call = 0; call < 3; call++) await write();
  assert.equal(ends.length, 1, "never two at a time");
  ends[0].done();
  await turn();
  assert.equal(ends.length, 2, "what came meanwhile is written");
  ends[1].fail(new Error("full"));
  await assert.rejects(first, /full/);
  write();
  assert.equal(ends.length, 3);
  ends[2].done();
  await turn();
  assert.equal(ends.length, 3);
});

test("a tab forgets what it keeps, and nothing of another", async () => {
  const other = await keeping("other");
  const one = tab();
  const { database } = await one.load();
  for (const id of ["a", "b"]) await database.put({ id });
  await database.forget();
  assert.deepEqual([ids(), database.isForgotten()], [["other"], true]);
  assert.deepEqual((await other.load()).found, ["other"]);
});

test("words are kept for an hour, never older ones than those that found no room, and forgotten", async (context) => {
  const one = tab();
  const { database } = await one.load();
  const other = tab().here() && new Database();
  one.here();
  database.putWords("own", { name: "cup" });
  assert.equal(new Database().words("own").name, "cup");
  assert.equal(other.words("own"), null);
  context.mock.method(one.session, "setItem", () => {
    throw new DOMException("full", "QuotaExceededError");
  });
  database.putWords("own", { name: "mug" });
  assert.equal(database.words("own"), null);
  context.mock.restoreAll();
  database.putWords("own", { name: "mug" });
  const now = Date.now();
  context.mock.method(Date, "now", () => now + 3_600_001);
  assert.equal(database.words("own"), null);
  database.putWords("own", { name: "mug" });
  await database.forget();
  assert.deepEqual(Object.keys(one.session), []);
});

/** The own things of a tab as a page of it finds them; touch keeps them. */
async function things(side = 1) {
  const set = new OwnSet();
  const own = createKept(set, { height: side, width: side, channels: 3 });
  await own.restore();
  const shown = () => set.things.map(({ name, pictures }) => `${name}:${pictures.length}`).join();
  return { set, shown, touch: own.touch };
}

test("own things are those of the last moment before the page went, while the database was busy", async () => {
  tab().here();
  const { set, touch } = await things();
  for (const thing of set.things) set.add(thing, { group: 1, pixels: Uint8Array.of(1, 2, 3), file: null });
  set.things[0].name = "cup";
  set.things[1].name = "d";
  await touch();
  shared.database.busy = true;
  set.things[1].name = "dog";
  set.card.purpose = "play";
  touch(); // it does not end
  await new Promise((done) => setTimeout(done, 0)); // its transaction has begun
  shared.database.busy = false;
  const again = await things();
  assert.deepEqual([again.shown(), again.set.card.purpose], ["cup:1,dog:1", "play"]);

  shared.database.busy = true;
  again.set.remove(again.set.things[0]); // the pictures of it do not go to another
  again.set.things[0].name = "hat";
  again.touch();
  await new Promise((done) => setTimeout(done, 0)); // its transaction has begun
  shared.database.busy = false;
  const third = await things();
  assert.equal(third.shown(), "hat:0,dog:1");

  shared.database.busy = true;
  third.set.clear();
  third.touch();
  await new Promise((done) => setTimeout(done, 0)); // its transaction has begun
  shared.database.busy = false;
  assert.equal((await things()).shown(), ":0,:0");
  assert.deepEqual(ids(), []);
});

test("own things of one model stay while another one, which sees another size, has things of its own", async () => {
  tab().here();
  const { set, touch } = await things();
  set.add(set.things[0], { group: 1, pixels: Uint8Array.of(1, 2, 3), file: null });
  set.things[0].name = "cup";
  await touch();
  const other = await things(2);
  assert.equal(other.shown(), ":0,:0");
  await other.touch(); // nothing is in it
  other.set.add(other.set.things[0], { group: 1, pixels: new Uint8Array(12), file: null });
  other.set.things[0].name = "hat";
  await other.touch();
  assert.equal((await things()).shown(), "cup:1,:0");
  assert.equal((await things(2)).shown(), "hat:1,:0");
});

test("own things stay without their photos where the browser has no room for these", async () => {
  tab().here();
  const { set, touch } = await things();
  const file = new File([new Uint8Array(9)], "cup.jpg");
  set.add(set.things[0], { group: 1, pixels: Uint8Array.of(1, 2, 3), file });
  await touch();
  const photos = () => [...shared.database.rows.values()].flatMap((row) => row.things[0].pictures);
  assert.deepEqual(
    photos().map((one) => one.file),
    [file],
  );
  shared.database.room = (row) => row.things.every(({ pictures }) => pictures.every((one) => !one.file));
  set.add(set.things[0], { group: 2, pixels: Uint8Array.of(4, 5, 6), file });
  await touch();
  assert.deepEqual(
    photos().map((one) => [one.pixels[0], one.file]),
    [
      [1, null],
      [4, null],
    ],
  );
});

test("own things are restored from their pictures where the words of another version lie", async () => {
  const one = tab();
  one.here();
  const { set, touch } = await things();
  set.add(set.things[0], { group: 1, pixels: Uint8Array.of(1, 2, 3), file: null });
  set.things[0].name = "cup";
  await touch();
  const name = Object.keys(one.session).find((item) => item.endsWith("own-1x1x3"));
  for (const text of ["{", "3", JSON.stringify({ at: Date.now(), things: 3 })]) {
    one.session.setItem(name, text);
    assert.equal((await things()).shown(), "cup:1,:0", text);
  }
});
