// Keeping: the photos of this tab, so that a reload, a step back and an expired analysis find them. Runs
// before Gradio does.
window.vitvizKept = (() => {
  const [MOST, HOUR, DRAWN] = [6, 3_600_000, /^drawing-\d+\.png$/];
  const [NAME, PHOTOS] = ["vitviz-tab", "photos"];
  const photos = new Map(); // id -> photo, of this page; also where the browser keeps nothing
  const ids = new Map(); // address on the server -> id
  const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
  const tab = ours();
  const database = tab === null ? null : opened().catch(() => null);
  const ready = Promise.race([
    visit(),
    new Promise((done) => {
      setTimeout(done, 3000);
    }),
  ]); // a browser can hang, too
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted && recalled() !== tab) location.reload();
  }); // it was forgotten
  setInterval(() => {
    if (!document.hidden) for (const one of photos.values()) put(one);
  }, HOUR / 12);
  // the photo that is shown and has not left this page: {address, name, file, inverted}; its address is its
  // id
  let own = null;
  return {
    keep,
    alive,
    asked,
    forget,
    idOf: (path) => ids.get(path) ?? "",
    pathOf,
    own: () => own,
    take,
    hold,
    shown,
    share,
    stays,
  };

  /** The name of this tab, which no other one has; null where the browser refuses. */
  function ours() {
    try {
      const name = recalled() ?? random();
      sessionStorage.setItem(NAME, name);
      return name;
    } catch {
      return null;
    }
  }

  function recalled() {
    try {
      return sessionStorage.getItem(NAME);
    } catch {
      return null;
    }
  }

  async function opened() {
    const asking = indexedDB.open("vitviz", 1);
    asking.onupgradeneeded = () => asking.result.createObjectStore(PHOTOS, { keyPath: "id" });
    await new Promise((done, fail) => {
      Object.assign(asking, { onsuccess: done, onerror: fail, onblocked: fail });
    });
    return asking.result;
  }

  /** Does something in the database; whether it was done. */
  async function done(work) {
    const base = await database;
    if (!base) return false;
    return new Promise((end, fail) => {
      const deed = base.transaction(PHOTOS, "readwrite");
      Object.assign(deed, { oncomplete: () => end(true), onerror: fail, onabort: fail });
      work(deed.objectStore(PHOTOS));
    }).catch(() => false);
  }

  /**
   * Finds the photos of this tab, and deletes those of tabs that are closed, and all that are an hour old.
   */
  async function visit() {
    // until the tab is closed
    if (tab !== null) navigator.locks?.request(NAME + tab, () => new Promise(() => {}));
    const { held = [] } = (await navigator.locks?.query()) ?? {};
    await done((all) => {
      all.openCursor().onsuccess = ({ target: { result: cursor } }) => {
        if (!cursor) return;
        const { value: one } = cursor;
        if (
          one.at + HOUR < Date.now() ||
          (one.tab !== tab && !held.some(({ name }) => name === NAME + one.tab))
        )
          cursor.delete();
        else if (one.tab === tab) photos.set(one.id, one);
        cursor.continue();
      };
    });
    say(photos.size > 0);
  }

  /** The page says what it keeps, and offers to forget it. */
  function say(kept) {
    document.documentElement.toggleAttribute("data-vv-kept", kept);
  }

  async function put(one) {
    one.at = Date.now();
    if ((await done((all) => all.put(one))) && photos.has(one.id)) say(true);
  }

  function drop(id) {
    photos.delete(id);
    return done((all) => all.delete(id));
  }

  /** Keeps a photo that is shown: of drawings the last one, and the last few photos. */
  async function keep({ address, name }, url) {
    if (ids.has(address)) return;
    const id = random();
    ids.set(address, id);
    // the page has fetched it to show it
    const answer = await fetch(url, { cache: "force-cache" }).catch(() => null);
    if (!answer?.ok) return;
    await store({ id, tab, name, at: 0, file: await answer.blob() });
  }

  async function store(one) {
    const { id, name } = one;
    await ready;
    photos.set(id, one);
    await put(one); // first, so that a reload in between finds one of them
    for (const [other, { name: before }] of photos) {
      if (other !== id && (photos.size > MOST || (DRAWN.test(name) && DRAWN.test(before)))) drop(other);
    }
  }

  /** A photo does not leave this page, and is the one that is shown. */
  function take(file, inverted = false, address = random()) {
    ids.set(address, address);
    own = { address, name: file.name ?? own.name, file, inverted };
    return own;
  }

  /** Keeps a photo that has not left this page, once there is something to see of it. */
  function shown({ address, name, file }) {
    if (!photos.has(address)) store({ id: address, tab, name, at: 0, file, here: true });
  }

  /** Another photo that has not left this page is shown; null: one that the server has. */
  function hold(photo) {
    own = photo;
  }

  /** A photo that has not left this page, by its address. */
  function stays(address) {
    const one = photos.get(address);
    return one?.here ? { address, name: one.name, file: one.file } : null;
  }

  /** Sends the photo that is shown and has not left this page; undefined if it is not taken. */
  async function share() {
    const { address, inverted } = own ?? {};
    const one = photos.get(address);
    const sent = one && (await send(one));
    if (!sent) return undefined;
    own = null;
    put(Object.assign(one, { here: false }));
    return { path: sent.path, name: one.name, first: false, inverted };
  }

  /** A photo goes to the server, as Gradio uploads one; null if it is not taken. */
  async function send({ id, name, file }) {
    const form = new FormData();
    form.append("files", file, name);
    const answer = await fetch(new URL("gradio_api/upload", document.baseURI), {
      method: "POST",
      body: form,
    }).catch(() => null);
    if (!answer?.ok) return null;
    const [path] = await answer.json();
    ids.delete(path); // so that it is the last one
    ids.set(path, id);
    return { path, orig_name: name, meta: { _type: "gradio.FileData" } };
  }

  /** The photo of the picture input; sent again where the server has forgotten it. */
  async function alive(photo) {
    const one = photos.get(ids.get(photo?.path));
    if (!one) return photo;
    const there = await fetch(photo.url, { method: "HEAD" }).catch(() => null);
    return there && !there.ok ? ((await send(one)) ?? photo) : photo;
  }

  /** The photo on the server that this entry of the browser's history is about; null if there is none. */
  async function asked() {
    const { photo: id, link } = history.state?.vitviz ?? {};
    own = null;
    if (!id) return null;
    await ready;
    const one = photos.get(id);
    if (one?.here) take(one.file, link?.invert === "1", id);
    return one && !one.here ? send(one) : null;
  }

  /** The last address of a photo on the server; of an unknown one its id. */
  function pathOf(id) {
    return [...ids].reverse().find(([, known]) => known === id)?.[0] ?? id;
  }

  /** Forgets all photos of this tab, and opens the page as if for the first time. */
  async function forget() {
    await Promise.all([...photos.keys()].map(drop));
    sessionStorage.removeItem(NAME);
    location.replace(location.pathname);
  }
})();
