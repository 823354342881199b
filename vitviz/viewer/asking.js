/** Asking: what the host is asked for, and what can stand beside an analysis because of it. */

import { readResults } from "./data/analysis.js";
import { HERE, fetchChecked } from "./data/files.js";
import { newestOf } from "./data/newest.js";
import { KEPT, besidesOf } from "./state/besides.js";
import { OPERATED, read, touches } from "./state/experiment.js";
import { createPhotos } from "./state/photos.js";
import { granted } from "./text/refusal.js";

/** Files of the intact pass that a page may not be able to make of a changed one. */
const OF_PASS = /^(mixing-|explain-|rollout$|pooling$)/;

/** Requests that a panel makes by itself, and waits for. */
const UNASKED = ["late", "rollout"];

/**
 * Every question throws a `Refusal` if the host refuses; null stands for a question that this host does not
 * take.
 * @param {import("./main.js").App} app
 * @param {import("./types.js").Host} host
 * @param {ReturnType<typeof import("./computing.js").createComputing>} computing
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {(error: Error) => never} noticing  is told each refusal
 * @param {() => never} need  refuses what the host would have to do with a photo that it does not have, and
 *   asks the visitor
 * @param {() => void} render
 */
export function createAsking(app, host, computing, fetchFile, noticing, need, render) {
  const [offers, operates] = [Boolean(host.beside), computing.operates];
  const photos = createPhotos();
  /** @type {import("./types.js").Manifest|null} */
  let kept = null; // of the analysis that the visitor has kept
  const operate = newestOf(computing.operate);
  const allowed = async (asked) => {
    try {
      return granted(await asked);
    } catch (error) {
      return noticing(error);
    }
  };
  const isHere = (asked) => asked?.id.startsWith(HERE);
  return {
    operates,
    ask: host.ask
      ? async (name, params) => {
          if (!isHere(params) && !isHere(params.other)) return allowed(host.ask(name, params));
          // Explanations come one after another: one that waits would hold up all.
          try {
            return need();
          } catch (error) {
            if (!UNASKED.includes(name) || params.name?.startsWith("explain-")) throw error;
          }
          return new Promise(() => {}); // it is asked for again when the host has the photo
        }
      : null,
    /** Sends the photo that is shown. */
    share: async () => {
      granted(await host.share());
    },
    takeHome: host.takeHome
      ? async (wanted) => (isHere(wanted) ? need() : allowed(host.takeHome(wanted)))
      : null,
    /** Takes a photo to the host; it can stand beside then. Returns its key. */
    send:
      host.send && offers
        ? async (file) => {
            if (app.source.manifest.like) return need(); // two would be sent, and one was asked about
            const key = photos.add(await host.send(file));
            render();
            return key;
          }
        : null,
    /** The results after an experiment, asked for by a lesson. */
    results: operates ? results : null,
    manifestOf,
    /** The analyses that can be put beside one. @param {import("./types.js").Manifest} manifest */
    besides: (manifest) => besidesOf(manifest, kept, offers, operates, photos.list()),
    /** @param {import("./types.js").Manifest} manifest */
    keep(manifest) {
      kept = manifest;
    },
    /**
     * An analysis is shown; a photo of the visitor's can stand beside others from now on.
     * @param {import("./types.js").Manifest} manifest
     */
    shown({ upload }) {
      app.needed.clear();
      if (upload) photos.add(upload);
    },
  };

  async function results(interventions, source) {
    const { layer, token } = app.selection;
    const { model } = source.manifest;
    const { pass, files } = await allowed(
      computing.operate({ source, interventions, layer, token, other: manifestOf }),
    );
    return readResults(await fetchChecked(fetchFile, files.first, new AbortController().signal), {
      model,
      pass,
    });
  }

  /** The manifest of what stands beside, by its key. */
  async function manifestOf(key, signal = new AbortController().signal) {
    if (key === OPERATED) return operated(app.selection.experiment, signal);
    if (key === KEPT) return kept;
    const {
      manifest,
      manifest: {
        like,
        upload,
        photo: { inverted },
      },
    } = app.source;
    const { path = "" } = /** @type {any} */ (photos.asked(key));
    if (key === "untrained" && host.twin) {
      const { like: template, photo } = await host.twin();
      return (await computing.analyse(template, { ...photo, inverted })) ?? need();
    }
    const own = host.own?.(path);
    if (own) return (await computing.analyse(like ?? manifest, own)) ?? need();
    const fetched = async () =>
      computing.completed(await allowed(host.beside(photos.asked(key), (like ?? manifest).pass.id)));
    if (!like) return fetched();
    if (key === like.itself?.key) return like;
    if (/^(untrained|size)/.test(key)) return need();
    const other = await fetched();
    return key.startsWith("model-")
      ? ((await computing.analyse(other, { ...host.own(upload.address), inverted })) ?? need())
      : other;
  }

  /**
   * The manifest of the first analysis after an experiment; files that it leaves as they are are those of the
   * first.
   */
  async function operated(experiment, signal) {
    const {
      source,
      source: { manifest },
    } = app;
    const interventions = read(experiment) ?? [];
    const asked = { id: manifest.pass.id, interventions: photos.askedIn(interventions) };
    const reply = await allowed(
      operate(
        {
          source,
          interventions,
          asked: asked.interventions,
          layer: app.selection.layer,
          token: app.shownToken(),
          other: manifestOf,
        },
        signal,
      ),
    );
    // The photo itself does not show what was done to its pixels, nor what positions do by themselves that
    // they were changed.
    const gone = [
      ...(touches(reply.pass.changes, "pixels") ? ["photograph", "whole"] : []),
      ...(reply.pass.changes.some(({ kind }) => kind === "positions") ? ["inside"] : []),
    ];
    const same = Object.entries(manifest.files).filter(
      ([name]) => !gone.includes(name) && !(reply.pass.here && OF_PASS.test(name)),
    );
    return { ...manifest, ...reply, files: { ...Object.fromEntries(same), ...reply.files }, asked };
  }
}
