/**
 * Database: keeps photos of a tab, and what it teaches, in the browser, until the tab is closed or an hour has
 * passed.
 */

const [HOUR_MS, PATIENCE_MS, ANSWER_MS] = [3_600_000, 3000, 300];
const [NAME, PHOTOS, VERSION] = ["vitviz-tab", "photos", 2];

/** A name that nobody else has. */
export const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** The unique name of this tab; null if the browser stores nothing. */
function tabName() {
  try {
    const name = sessionStorage.getItem(NAME) ?? random();
    sessionStorage.setItem(NAME, name);
    return name;
  } catch {
    return null;
  }
}

async function opened() {
  const request = indexedDB.open("vitviz", VERSION);
  request.onupgradeneeded = () => {
    const { result } = request;
    if (result.objectStoreNames.contains(PHOTOS)) result.deleteObjectStore(PHOTOS);
    result.createObjectStore(PHOTOS, { keyPath: "id" });
  };
  await new Promise((done, fail) => {
    Object.assign(request, { onsuccess: done, onerror: fail, onblocked: fail });
  });
  const { result } = request;
  result.onversionchange = () => result.close(); // a newer page in another tab waits for it
  return result;
}

/** @param {number} milliseconds @returns {Promise<void>} */
const wait = (milliseconds) =>
  new Promise((done) => {
    setTimeout(done, milliseconds);
  });

/**
 * The names of the open tabs: each holds a lock until its document goes. A page over http has no locks; there
 * the other tabs are asked by a message. Suspended tabs cannot answer, but have left a mark: see `markRests`.
 * @param {string} tab  the name of this one
 * @returns {Promise<Set<string>>}
 */
async function openTabs(tab) {
  const { locks } = navigator;
  if (locks) {
    locks.request(NAME + tab, () => new Promise(() => {}));
    const { held = [] } = await locks.query();
    return new Set(held.map(({ name = "" }) => name.slice(NAME.length)));
  }
  markRests(NAME + tab);
  const [open, channel] = [new Set(), new BroadcastChannel(NAME)];
  channel.onmessage = ({ data }) => {
    if (data === "?") channel.postMessage(tab);
    else open.add(data);
  };
  channel.postMessage("?");
  await wait(ANSWER_MS);
  for (const [mark, since] of Object.entries(localStorage)) {
    if (!mark.startsWith(NAME)) continue;
    if (Number(since) + HOUR_MS < Date.now()) localStorage.removeItem(mark);
    else open.add(mark.slice(NAME.length));
  }
  return open;
}

/**
 * Keeps a mark in the local storage while this tab is hidden: a phone may suspend a hidden tab, or end it,
 * before the visitor returns to it. A tab that is closed removes its mark.
 * @param {string} mark
 */
function markRests(mark) {
  let gone = false;
  const hear = ({ type }) => {
    gone = type === "pagehide" || (gone && type !== "pageshow"); // what goes is hidden, too
    if (document.hidden && !gone) localStorage.setItem(mark, String(Date.now()));
    else localStorage.removeItem(mark);
  };
  for (const type of ["visibilitychange", "pagehide", "pageshow"]) window.addEventListener(type, hear);
  hear({ type: "" });
}

/**
 * Wraps work so that it never runs twice at a time: calls that come while it runs make it run once more.
 * @param {() => Promise<any>} work
 */
export function oneAfterTheOther(work) {
  let [working, again] = [false, false];
  return async () => {
    again = true;
    if (working) return;
    working = true;
    try {
      while (again) {
        again = false;
        await work();
      }
    } finally {
      working = false; // work that failed keeps nobody from trying again
    }
  };
}

/** The value of a JSON text; null for a text that another version, or another page of this site, has written. */
function parsed(text) {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

export class Database {
  #tab = tabName();
  #opened = this.#tab === null ? Promise.resolve(null) : opened().catch(() => null);

  /** Whether the photos of this tab were forgotten since it was opened. */
  isForgotten() {
    return this.#tab !== tabName();
  }

  /**
   * Reads what this tab keeps; deletes what closed tabs have kept, and all that is an hour old.
   * @param {(one: any) => void} take  kind: what it is, undefined for a photo
   */
  async read(take) {
    const tab = this.#tab;
    if (tab === null) return;
    // Where the browser refuses, other open tabs lose theirs, too: what a closed one has kept must go.
    const open = await openTabs(tab).catch(() => new Set());
    await this.#each((cursor) => {
      const { at, tab: owner, ...photo } = cursor.value;
      if (at + HOUR_MS < Date.now() || (owner !== tab && !open.has(owner))) cursor.delete();
      else if (owner === tab) take(photo);
    });
  }

  /** Stores something for another hour; whether the browser did. @param {{id: string}} one */
  put(one) {
    return this.#run((all) => all.put({ ...one, tab: this.#tab, at: Date.now() }));
  }

  /** @param {string} id */
  delete(id) {
    return this.#run((all) => all.delete(id));
  }

  /**
   * Stores words within this call: a page that goes does not wait for a transaction.
   * @param {string} id @param {object} words
   */
  putWords(id, words) {
    if (this.#tab === null) return;
    const name = NAME + this.#tab + id;
    try {
      sessionStorage.setItem(name, JSON.stringify({ ...words, at: Date.now() }));
    } catch {
      sessionStorage.removeItem(name); // full: what `put` stores is newer than older words
    }
  }

  /** The words that this tab stored within the hour; null without any. @param {string} id @returns {any} */
  words(id) {
    if (this.#tab === null) return null;
    const name = NAME + this.#tab + id;
    const words = parsed(sessionStorage.getItem(name));
    if (words?.at + HOUR_MS >= Date.now()) return words;
    sessionStorage.removeItem(name);
    return null;
  }

  /** Deletes all that this tab keeps; it gets another name. */
  async forget() {
    await this.#each((cursor) => {
      if (cursor.value.tab === this.#tab) cursor.delete();
    });
    if (this.#tab === null) return;
    for (const name of Object.keys(sessionStorage)) {
      if (name === NAME || name.startsWith(NAME + this.#tab)) sessionStorage.removeItem(name);
    }
  }

  /** Goes through all that is kept. @param {(cursor: IDBCursorWithValue) => void} visit */
  #each(visit) {
    const going = this.#run((all) => {
      const request = all.openCursor();
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return;
        visit(cursor);
        cursor.continue();
      };
    });
    return Promise.race([going, wait(PATIENCE_MS)]); // the browser may hang: the page goes on without it then
  }

  /** Runs a transaction; returns whether it succeeded. @param {(all: IDBObjectStore) => void} work */
  async #run(work) {
    const base = await this.#opened;
    if (!base) return false;
    return new Promise((end, fail) => {
      const transaction = base.transaction(PHOTOS, "readwrite");
      Object.assign(transaction, { oncomplete: () => end(true), onerror: fail, onabort: fail });
      work(transaction.objectStore(PHOTOS));
    }).catch(() => false);
  }
}
