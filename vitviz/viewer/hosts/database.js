/** Database: keeps the photos of a tab in the browser, until the tab is closed or an hour has passed. */

const [HOUR_MS, PATIENCE_MS] = [3_600_000, 3000];
const [NAME, PHOTOS, VERSION] = ["vitviz-tab", "photos", 2];

const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

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
  return request.result;
}

export class Database {
  #tab = tabName();
  #opened = this.#tab === null ? Promise.resolve(null) : opened().catch(() => null);

  /** Whether the photos of this tab were deleted since it was opened. */
  get isForgotten() {
    return this.#tab !== tabName();
  }

  /**
   * Reads the photos of this tab; deletes those of closed tabs, and all that are an hour old.
   * @param {(photo: any) => void} take
   */
  async read(take) {
    const tab = this.#tab;
    // a lock that lasts until the tab is closed
    if (tab !== null) navigator.locks?.request(NAME + tab, () => new Promise(() => {}));
    const { held = [] } = (await navigator.locks?.query()) ?? {};
    const isOpen = (other) => held.some(({ name }) => name === NAME + other);
    const reading = this.#run((all) => {
      const request = all.openCursor();
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return;
        const { at, tab: owner, ...photo } = cursor.value;
        if (at + HOUR_MS < Date.now() || (owner !== tab && !isOpen(owner))) cursor.delete();
        else if (owner === tab) take(photo);
        cursor.continue();
      };
    });
    // the browser may hang; reading goes on then
    await Promise.race([
      reading,
      new Promise((done) => {
        setTimeout(done, PATIENCE_MS);
      }),
    ]);
  }

  /** Stores a photo for another hour; whether the browser did. @param {{id: string}} photo */
  put(photo) {
    return this.#run((all) => all.put({ ...photo, tab: this.#tab, at: Date.now() }));
  }

  /** @param {string} id */
  delete(id) {
    return this.#run((all) => all.delete(id));
  }

  /** Gives the tab another name: nothing that was stored is read again. */
  forget() {
    sessionStorage.removeItem(NAME);
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
