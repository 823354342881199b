/** Asking: what the host is asked for, and what can stand beside an analysis because of it. */

import { readResults } from "./data/analysis.js";
import { fetchChecked } from "./data/files.js";
import { KEPT, besidesOf } from "./state/besides.js";
import { OPERATED, read, touches } from "./state/experiment.js";
import { newestOf } from "./state/newest.js";
import { createPhotos } from "./state/photos.js";
import { granted } from "./text/refusal.js";

/**
 * Every question throws a `Refusal` if the host refuses; null stands for a question that this host does not take.
 * @param {import("./main.js").App} app
 * @param {import("./types.js").Host} host
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {(error: Error) => never} noticing  is told each refusal
 * @param {() => void} render
 */
export function createAsking(app, host, fetchFile, noticing, render) {
  const [offers, operates] = [Boolean(host.beside), Boolean(host.operate)];
  const photos = createPhotos();
  /** @type {import("./types.js").Manifest|null} */
  let kept = null; // of the analysis that the visitor has kept
  const operate = newestOf(({ interventions, id, ...first }) => host.operate(interventions, id, first));
  const allowed = async (asked) => { try { return granted(await asked); } catch (error) { return noticing(error); } };
  return {
    operates,
    ask: host.ask ? (name, params) => allowed(host.ask(name, params)) : null,
    takeHome: host.takeHome ? (wanted) => allowed(host.takeHome(wanted)) : null,
    /** Takes a photo to the host; it can stand beside then. Returns its key. */
    send: host.send && offers ? async (file) => {
      const key = photos.add(await host.send(file));
      render();
      return key;
    } : null,
    /** The results after an experiment, asked for by a lesson. */
    results: operates ? results : null,
    manifestOf,
    /** The analyses that can be put beside one. @param {import("./types.js").Manifest} manifest */
    besides: (manifest) => besidesOf(manifest, kept, offers, operates, photos.list()),
    /** @param {import("./types.js").Manifest} manifest */
    keep(manifest) {
      kept = manifest;
    },
    /** An analysis is shown; a photo of the visitor's can stand beside others from now on. @param {import("./types.js").Manifest} manifest */
    shown({ upload }) {
      if (upload) photos.add(upload);
    },
  };

  async function results(interventions, id) {
    const { model } = app.source.manifest;
    const { layer, token } = app.selection;
    const { pass, files } = await allowed(host.operate(interventions, id, { layer, token }));
    return readResults(await fetchChecked(fetchFile, files.first, new AbortController().signal), { model, pass });
  }

  /** The manifest of what stands beside, by its key. */
  async function manifestOf(key, signal) {
    if (key === OPERATED) return operated(app.selection.experiment, signal);
    return key === KEPT ? kept : allowed(host.beside(photos.asked(key), app.source.manifest.pass.id));
  }

  /** The manifest of the first analysis after an experiment; files that it leaves as they are are those of the first. */
  async function operated(experiment, signal) {
    const { manifest } = app.source;
    const asked = { id: manifest.pass.id, interventions: photos.askedIn(read(experiment)) };
    const reply = await allowed(operate({ ...asked, layer: app.selection.layer, token: app.shownToken() }, signal));
    // The photo itself does not show what was done to its pixels.
    const gone = touches(reply.pass.changes, "pixels") ? ["photograph", "whole"] : [];
    const same = Object.entries(manifest.files).filter(([name]) => !gone.includes(name));
    return { ...manifest, ...reply, files: { ...Object.fromEntries(same), ...reply.files }, asked };
  }
}
