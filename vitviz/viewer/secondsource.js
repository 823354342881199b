/** The second source: what stands beside the first, opened and closed as the selection asks for it. */

import { Source } from "./data/source.js";
import { secondApp } from "./state/secondapp.js";
import { KEPT } from "./state/besides.js";

/**
 * @typedef {{key: string, app: import("./main.js").App|null, error: Error|null, retry: () => void}} Second
 *   key: of what is wanted; app: the app as its parts see it, null while it is on its way or has failed
 */

/**
 * @param {import("./main.js").App} app
 * @param {(key: string) => Promise<import("./types.js").Manifest>} manifestOf  of what is put beside the first
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render
 * @returns {{follow: () => Second, close: () => void}}
 *   follow: opens what the selection asks for, and closes what it no longer does
 */
export function createSecondSource(app, manifestOf, fetchFile, render) {
  /** @type {Second} */
  let now = nothing("");
  let of = ""; // which analysis it stands beside
  let source = null; // also while it is on its way
  return { follow, close };

  function nothing(key, error = null) {
    return { key, app: null, error, retry: () => { of = ""; render(); } };
  }

  function follow() {
    const key = app.selection.beside;
    // What was kept stays, whatever it stands beside.
    const wanted = key && (key === KEPT ? key : key + "/" + app.source.manifest.id);
    if (wanted !== of) {
      close();
      of = wanted;
      if (key) open(key, wanted);
    } else if (now.app) look();
    return now;
  }

  async function open(key, wanted) {
    now = nothing(key);
    try {
      const manifest = await manifestOf(key);
      if (of !== wanted) return;
      const mine = new Source(manifest, fetchFile, app.ask, () => mine === source && render());
      source = mine;
      await mine.loaded;
      if (source !== mine) return;
      now = { ...now, app: secondApp(app, mine) };
    } catch (error) {
      if (of !== wanted) return;
      source?.dispose();
      source = null;
      now = nothing(key, error);
    }
    render();
  }

  /** The layer that is looked at there is fetched when something needs it, then all others. */
  function look() {
    const { store } = source;
    const { layer, overlay } = now.app.selection;
    store.look(layer);
    if (overlay !== "attention" && app.panel().needs !== "layer") return;
    store.want(() => {
      if (store !== source?.store) return;
      render();
      if (!store.failure) store.prefetch(layer, () => store === source?.store && render());
    });
  }

  function close() {
    source?.dispose();
    source = null;
    of = "";
    now = nothing("");
  }
}
