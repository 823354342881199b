// Keeping: stores the photos of this tab, so that a reload, a step back and an expired analysis find them.
// Runs before Gradio.
window.vitvizKept = (() => {
  const [MOST, HOUR, DRAWN] = [6, 3_600_000, /^drawing-\d+\.png$/];
  const [NAME, PHOTOS] = ["vitviz-tab", "photos"];
  const photos = new Map(); // id -> photo, of this page; used even if the browser stores nothing
  const ids = new Map(); // address on the server -> id
  const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
  const tab = ours();
  const database = tab === null ? null : opened().catch(() => null);
  const ready = Promise.race([
    visit(),
    new Promise((done) => {
      setTimeout(done, 3000);
    }),
  ]); // goes on if the browser hangs
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted && recalled() !== tab) location.reload();
  }); // its photos were forgotten meanwhile
  setInterval(() => {
    if (!document.hidden) for (const photo of photos.values()) put(photo);
  }, HOUR / 12);
  // the shown photo, if it has not left this page: {address, name, file, inverted}; its address is its id
  let own = null;
  return {
    keep,
    alive,
    fromHistory,
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

  /** The unique name of this tab; null if the browser refuses. */
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
    const request = indexedDB.open("vitviz", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(PHOTOS, { keyPath: "id" });
    await new Promise((done, fail) => {
      Object.assign(request, { onsuccess: done, onerror: fail, onblocked: fail });
    });
    return request.result;
  }

  /** Run a transaction in the database; returns whether it succeeded. */
  async function done(work) {
    const base = await database;
    if (!base) return false;
    return new Promise((end, fail) => {
      const transaction = base.transaction(PHOTOS, "readwrite");
      Object.assign(transaction, { oncomplete: () => end(true), onerror: fail, onabort: fail });
      work(transaction.objectStore(PHOTOS));
    }).catch(() => false);
  }

  /**
   * Read the photos of this tab; delete those of closed tabs, and all that are an hour old.
   */
  async function visit() {
    // a lock that lasts until the tab is closed
    if (tab !== null) navigator.locks?.request(NAME + tab, () => new Promise(() => {}));
    const { held = [] } = (await navigator.locks?.query()) ?? {};
    await done((all) => {
      all.openCursor().onsuccess = ({ target: { result: cursor } }) => {
        if (!cursor) return;
        const { value: photo } = cursor;
        if (
          photo.at + HOUR < Date.now() ||
          (photo.tab !== tab && !held.some(({ name }) => name === NAME + photo.tab))
        )
          cursor.delete();
        else if (photo.tab === tab) photos.set(photo.id, photo);
        cursor.continue();
      };
    });
    say(photos.size > 0);
  }

  /** Show on the page that photos are kept, with the button to forget them. */
  function say(kept) {
    document.documentElement.toggleAttribute("data-vv-kept", kept);
  }

  async function put(photo) {
    photo.at = Date.now();
    if ((await done((all) => all.put(photo))) && photos.has(photo.id)) say(true);
  }

  function drop(id) {
    photos.delete(id);
    return done((all) => all.delete(id));
  }

  /** Keep a photo that is shown: the last few photos, but only the last drawing. */
  async function keep({ address, name }, url) {
    if (ids.has(address)) return;
    const id = random();
    ids.set(address, id);
    // in the cache: the page has fetched it to show it
    const answer = await fetch(url, { cache: "force-cache" }).catch(() => null);
    if (!answer?.ok) return;
    await store({ id, tab, name, at: 0, file: await answer.blob() });
  }

  async function store(photo) {
    const { id, name } = photo;
    await ready;
    photos.set(id, photo);
    await put(photo); // before older ones are dropped, so that a reload in between finds a photo
    for (const [other, { name: before }] of photos) {
      if (other !== id && (photos.size > MOST || (DRAWN.test(name) && DRAWN.test(before)))) drop(other);
    }
  }

  /** Show a photo that does not leave this page; returns the shown photo. */
  function take(file, inverted = false, address = random()) {
    ids.set(address, address);
    own = { address, name: file.name ?? own.name, file, inverted };
    return own;
  }

  /** Keep a photo that has not left this page, once it is analyzed. */
  function shown({ address, name, file }) {
    if (!photos.has(address)) store({ id: address, tab, name, at: 0, file, here: true });
  }

  /** Set the shown photo that has not left this page; null: a photo that the server has is shown. */
  function hold(photo) {
    own = photo;
  }

  /** A photo that has not left this page, by its address; null: unknown. */
  function stays(address) {
    const photo = photos.get(address);
    return photo?.here ? { address, name: photo.name, file: photo.file } : null;
  }

  /** Send the shown photo, which has not left this page yet; undefined if the server refuses it. */
  async function share() {
    const { address, inverted } = own ?? {};
    const photo = photos.get(address);
    const sent = photo && (await send(photo));
    if (!sent) return undefined;
    own = null;
    put(Object.assign(photo, { here: false }));
    return { path: sent.path, name: photo.name, first: false, inverted };
  }

  /** Upload a photo as Gradio does; null if the server refuses it. */
  async function send({ id, name, file }) {
    const form = new FormData();
    form.append("files", file, name);
    const answer = await fetch(new URL("gradio_api/upload", document.baseURI), {
      method: "POST",
      body: form,
    }).catch(() => null);
    if (!answer?.ok) return null;
    const [path] = await answer.json();
    ids.delete(path); // so that the next line appends it
    ids.set(path, id);
    return { path, orig_name: name, meta: { _type: "gradio.FileData" } };
  }

  /** The photo of the picture input, uploaded again if the server has forgotten it. */
  async function alive(photo) {
    const kept = photos.get(ids.get(photo?.path));
    if (!kept) return photo;
    const there = await fetch(photo.url, { method: "HEAD" }).catch(() => null);
    return there && !there.ok ? ((await send(kept)) ?? photo) : photo;
  }

  /** The photo of this entry of the browser's history, on the server; null if there is none. */
  async function fromHistory() {
    const { photo: id, link } = history.state?.vitviz ?? {};
    own = null;
    if (!id) return null;
    await ready;
    const photo = photos.get(id);
    if (photo?.here) take(photo.file, link?.invert === "1", id);
    return photo && !photo.here ? send(photo) : null;
  }

  /** The last address of a photo on the server; an unknown photo's id. */
  function pathOf(id) {
    return [...ids].reverse().find(([, known]) => known === id)?.[0] ?? id;
  }

  /** Forget all photos of this tab, and open the page as if for the first time. */
  async function forget() {
    await Promise.all([...photos.keys()].map(drop));
    sessionStorage.removeItem(NAME);
    location.replace(location.pathname);
  }
})();
