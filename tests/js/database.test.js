/** Photos of a tab stay in the browser, also over http, where no locks tell which tabs are open. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Database } from "../../vitviz/viewer/data/database.js";

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
      const made = /** @type {any} */ ({ objectStore: () => table });
      setTimeout(() => made.oncomplete?.({}), 0);
      return made;
    },
  };
  return { rows, open: () => later({}, base) };
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

test("a tab forgets what it keeps, and nothing of another", async () => {
  const other = await keeping("other");
  const one = tab();
  const { database } = await one.load();
  for (const id of ["a", "b"]) await database.put({ id });
  await database.forget();
  assert.deepEqual([ids(), database.isForgotten()], [["other"], true]);
  assert.deepEqual((await other.load()).found, ["other"]);
});
