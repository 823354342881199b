/** The second source stands beside the first; the selection opens and closes it. */

import { Source } from "../data/source.js";
import { beginsWithPhotograph } from "../stage/picture.js";
import { secondApp } from "../state/secondapp.js";
import { KEPT } from "../state/comparable.js";
import { OPERATED } from "../state/experiment.js";
import { overlayNamed } from "../state/overlays.js";

/**
 * @typedef {object} Second
 * @property {string} key  of the analysis that is wanted
 * @property {import("../main.js").App|null} app  for its parts; null while it is loading or has failed
 * @property {(next: Source) => void} [show]  exchanges the source of the app
 * @property {Error|null} error
 * @property {boolean} coming  another one is loading, in place of the one that is still shown
 * @property {() => void} retry
 */

/**
 * @param {import("../main.js").App} app
 * @param {(key: string, signal: AbortSignal) => Promise<import("../types.js").Manifest>} manifestOf
 *   of the analysis with this key; not to be asked for any more once the signal is aborted
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render
 * @returns {{follow: () => Second, close: () => void}}
 *   follow: opens the analysis that the selection names, and closes one that it no longer names
 */
export function createSecondSource(app, manifestOf, fetchFile, render) {
  /** @type {Second} */
  let now = nothing("");
  let of = ""; // what is wanted: the key, the id of the first analysis, the experiment
  let source = null; // what is shown
  let coming = null; // what is loading
  const fetched = new WeakSet(); // the stores whose layers are all fetched ahead
  let stop = new AbortController(); // of the last one that was opened
  return { follow, close };

  function nothing(key, error = null) {
    return {
      key,
      app: null,
      error,
      coming: false,
      retry: () => {
        of = "";
        render();
      },
    };
  }

  function follow() {
    const key = app.selection.beside;
    const { id } = app.source.manifest.pass;
    // A kept analysis stays open when the first analysis changes.
    const wanted =
      !key || key === KEPT
        ? key
        : [key, id, ...(key === OPERATED ? [app.selection.experiment] : [])].join("/");
    if (wanted !== of) {
      // While an experiment goes on, what it has shown stays until its next answer is here.
      if (!(key === OPERATED && now.app && of.startsWith(key + "/" + id + "/"))) close();
      of = wanted;
      if (key) open(key);
    } else if (now.app) look();
    return now;
  }

  async function open(key) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    coming?.dispose();
    coming = null;
    now = now.app ? { ...now, coming: true } : nothing(key);
    try {
      const manifest = await manifestOf(key, signal);
      if (signal.aborted) return;
      const next = new Source(
        manifest,
        fetchFile,
        app.backend,
        () => next === source && render(),
        key === OPERATED ? app.source : null,
      );
      coming = next;
      // A pass made in this page is drawn once, together with its layer.
      const ahead =
        app.backend.isLocal(manifest) && app.panel().needs === "layer"
          ? next.store.ensure(app.selection.layer)
          : null;
      await Promise.all([next.loaded(beginsWithPhotograph(app, app.selection)), ahead]);
      if (coming !== next) return;
      source?.dispose();
      [source, coming] = [next, null];
      const side = now.app ? now : secondApp(app, next);
      side.show(next); // what draws an experiment draws its next answer
      now = { ...nothing(key), app: side.app, show: side.show };
    } catch (error) {
      if (signal.aborted) return;
      drop();
      now = nothing(key, error);
    }
    render();
  }

  /**
   * Fetches the selected layer of the second source when something draws from it; then all others, unless
   * they are made on demand.
   */
  function look() {
    const { store } = source;
    const { layer, overlay, direction } = now.app.selection;
    store.look(layer);
    const needs = app.panel().needs === "layer";
    if (!overlayNamed(overlay).ahead && !needs) return;
    // The next stroke may follow at once: of an experiment no layer is fetched before somebody looks at it.
    if (now.key === OPERATED && !needs && source.maps.of(layer, now.app.pointer.shownToken(), direction))
      return;
    store.want(() => {
      if (store !== source?.store) return;
      render();
      if (!store.failure && now.key !== OPERATED) fetchAll(store, layer);
    });
    // The first look and some panels show every layer, once the hand rests.
    const every = app.panel().plain || (needs && app.panel().lights(app).length > 1);
    if (now.key === OPERATED && every && !app.bench.underWay() && store.get(layer)) fetchAll(store, layer);
  }

  function fetchAll(store, layer) {
    if (fetched.has(store)) return;
    fetched.add(store);
    store.prefetch(layer, () => store === source?.store && render());
  }

  function drop() {
    source?.dispose();
    coming?.dispose();
    source = coming = null;
  }

  function close() {
    stop.abort();
    drop();
    of = "";
    now = nothing("");
  }
}
