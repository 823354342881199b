/** Comparisons: the analyses that can stand beside the one that is shown, and their manifests. */

import { readResults } from "../data/analysis.js";
import { fetchChecked } from "../data/files.js";
import { newestOf } from "../data/newest.js";
import { KEPT, besidesOf } from "../state/comparable.js";
import { ITSELF, OPERATED, read, touches } from "../state/experiment.js";
import { askedIn, askedOf } from "../state/photos.js";

/**
 * Files of the intact pass that a pass changed by this page does not inherit, even if the page cannot make
 * them.
 */
const OF_PASS = /^(mixing-|explain-|rollout$|pooling$)/;

/**
 * @param {import("../main.js").App} app
 * @param {import("../passes/backend.js").Backend} backend
 * @param {import("../state/photos.js").PhotoStore} photos
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render
 */
export function createComparisons(app, backend, photos, fetchFile, render) {
  /** @type {import("../types.js").Manifest|null} */
  let kept = null; // the analysis that the visitor has kept
  const change = newestOf(backend.change);
  const { send } = backend;
  return {
    manifestOf,
    /** Takes a photo to the host; it can stand beside then. Returns its id. */
    send:
      send &&
      (async (file) => {
        const photo = photos.create(await send(app.source.manifest, file));
        const board = photos.find(app.source.manifest.upload?.address);
        if (board) photos.keep(board); // of many photos the oldest are forgotten: not the one that is shown
        photos.keep(photo);
        render();
        return photo.id;
      }),
    /** The results after an experiment that is not shown. */
    results: backend.changes ? results : null,
    /** The analyses that can be put beside one. @param {import("../types.js").Manifest} manifest */
    besides(manifest) {
      // a photo that the host may not have needs a model of this page
      const own = photos.all.filter(({ consent }) => consent === "given" || backend.has(manifest.model));
      return besidesOf(manifest, kept, backend.compares, backend.changes, own);
    },
    /** @param {import("../types.js").Manifest} manifest */
    keep(manifest) {
      kept = manifest;
    },
    /**
     * An analysis is shown; a photo of the visitor's can stand beside others from now on.
     * @param {import("../types.js").Manifest} manifest
     */
    shown({ upload }) {
      app.consent.forget();
      if (upload && !photos.find(upload.address)) photos.keep(photos.create(upload));
    },
  };

  async function results(interventions, source) {
    const { layer, token } = app.selection;
    const { model } = source.manifest;
    const { pass, files } = await backend.change({
      source,
      interventions,
      layer,
      token,
      other: async (key) => (key === ITSELF ? source.manifest : manifestOf(key)),
    });
    const buffer = await fetchChecked(fetchFile, files.first, new AbortController().signal);
    return readResults(buffer, { model, pass });
  }

  /** The manifest of what stands beside, by its key; `first`: of what it stands beside. */
  async function manifestOf(key, signal = new AbortController().signal, first = app.source.manifest) {
    if (key === OPERATED) return changed(app.selection.experiment, signal);
    if (key === KEPT) return kept;
    if (key === ITSELF) return app.source.manifest;
    return backend.beside(first, key, askedOf(photos, key));
  }

  /**
   * The manifest of the first analysis after an experiment; files that the experiment leaves as they are come
   * from the first.
   */
  async function changed(experiment, signal) {
    const { source } = app;
    const { manifest } = source;
    const interventions = read(experiment) ?? [];
    const asked = { id: manifest.pass.id, interventions: askedIn(photos, interventions) };
    const { layer } = app.selection;
    const reply = await change(
      {
        source,
        interventions,
        asked: asked.interventions,
        layer,
        token: app.pointer.shownToken(),
        other: manifestOf,
      },
      signal,
    );
    // The photo itself does not show what was done to its pixels, nor what positions do by themselves that
    // they were changed.
    const gone = [
      ...(touches(reply.pass.changes, "pixels") ? ["photograph", "whole"] : []),
      ...(reply.pass.changes.some(({ kind }) => kind === "positions") ? ["inside"] : []),
    ];
    const isLost = (name) => gone.includes(name) || (backend.isLocal(reply) && OF_PASS.test(name));
    const same = Object.entries(manifest.files).filter(([name]) => !isLost(name));
    return { ...manifest, ...reply, files: { ...Object.fromEntries(same), ...reply.files }, asked };
  }
}
