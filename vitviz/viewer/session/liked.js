/** Opens again the picture whose likeness an experiment changes: after a reload, Back or undo it is not here. */

import { Source } from "../data/source.js";
import { OPERATED } from "../state/experiment.js";

const NOTHING = { key: "", explanations: null, experiment: "" };

/**
 * @param {import("../main.js").App} app
 * @param {(key: string, signal: AbortSignal) => Promise<import("../types.js").Manifest>} manifestOf
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render
 * @returns {{follow: () => void, close: () => void}}
 */
export function createLiked(app, manifestOf, fetchFile, render) {
  /**
   * The picture that is `liked`, or that is loading: its key, the explanations that have it, and the experiment
   * with which it was opened.
   */
  let opened = NOTHING;
  /** @type {Source|null} */
  let source = null;
  let stop = new AbortController();
  return { follow, close };

  function follow() {
    const { beside, liked, experiment } = app.selection;
    const { explanations } = app.source;
    if (beside !== OPERATED) {
      close();
      opened = { ...NOTHING, key: app.facing() ? beside : "", explanations }; // `meet` takes it
      return;
    }
    const same = opened.key === liked && opened.explanations === explanations;
    // One that could not be opened is tried again with the next change.
    if (same && (!explanations.likeFailure || opened.experiment === experiment)) return;
    close();
    opened = { key: liked, explanations, experiment };
    explanations.like(null);
    if (liked && explanations.compares) open(liked, explanations);
  }

  async function open(key, explanations) {
    const { signal } = stop;
    try {
      const manifest = await manifestOf(key, signal);
      if (signal.aborted) return;
      source = new Source(manifest, fetchFile, app.backend, render);
      await source.seeded;
      if (signal.aborted) return;
      explanations.like(source);
    } catch (error) {
      if (signal.aborted) return;
      explanations.like(null, error);
    }
    render();
  }

  function close() {
    stop.abort();
    stop = new AbortController();
    source?.dispose();
    [source, opened] = [null, NOTHING];
  }
}
