/** The entry of an own photo: its address and view, for a frame whose surrounding page is reloaded. */

const [ENTRY, HOUR_MS] = ["vitviz-entry", 3_600_000];

/**
 * Keeps the address and the view of an own photo for `keptEntry`. In a frame no history brings them back when the
 * page around it is reloaded: the frame begins anew then.
 * @param {string} href
 * @param {any} view  as the browser's history has it
 */
export function keepEntry(href, view) {
  if (window.parent === window) return;
  try {
    const { search, hash } = new URL(href);
    const entry = { place: search + hash, view, at: Date.now() };
    if (view?.photo) sessionStorage.setItem(ENTRY, JSON.stringify(entry));
    else sessionStorage.removeItem(ENTRY);
  } catch {
    // The browser refuses storage in frames: the photo is lost with the frame.
  }
}

/**
 * The entry that a frame of this tab kept within the last hour; null outside of frames, and where the address names
 * something itself. Names with two underscores are those of the page around it.
 * @returns {{place: string, view: any}|null}
 */
export function keptEntry() {
  const names = [...new URLSearchParams(location.search).keys()];
  if (window.parent === window || location.hash || !names.every((name) => name.startsWith("__"))) return null;
  try {
    const entry = JSON.parse(sessionStorage.getItem(ENTRY) ?? "null");
    return entry && entry.at + HOUR_MS > Date.now() ? entry : null;
  } catch {
    return null; // refused
  }
}
