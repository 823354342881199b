/** The second source stands beside the first; the selection opens and closes it. */

import { Source } from "./data/source.js";
import { secondApp } from "./state/secondapp.js";
import { KEPT } from "./state/besides.js";

/**
 * @typedef {{key: string, app: import("./main.js").App|null, error: Error|null, retry: () => void}} Second
 *   key: of the analysis that is wanted; app: the app for its parts, null while it is loading or has failed
 */

/**
 * @param {import("./main.js").App} app
 * @param {(key: string) => Promise<import("./types.js").Manifest>} manifestOf  of the analysis with this key
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render
 * @returns {{follow: () => Second, close: () => void}}
 *   follow: opens the analysis that the selection names, and closes one that it no longer names
 */
export function createSecondSource(app, manifestOf, fetchFile, render) {
  /** @type {Second} */
  let now = nothing("");
  let of = ""; // the key, with the id of the first analysis
  let source = null; // also while it is loading
  return { follow, close };

  function nothing(key, error = null) {
    return { key, app: null, error, retry: () => { of = ""; render(); } };
  }

  function follow() {
    const key = app.selection.beside;
    // A kept analysis stays open when the first analysis changes.
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

  /** Fetches the selected layer of the second source when something draws from it, then all others. */
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
