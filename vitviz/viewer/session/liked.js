/** Opens again the picture whose likeness an experiment changes: after a reload, Back or undo it is not here. */

import { Source } from "../data/source.js";
import { OPERATED } from "../state/experiment.js";

/**
 * @param {import("../main.js").App} app
 * @param {(key: string, signal: AbortSignal) => Promise<import("../types.js").Manifest>} manifestOf
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {() => void} render
 * @returns {{follow: () => void, close: () => void}}
 */
export function createLiked(app, manifestOf, fetchFile, render) {
  let known = ""; // the key of the picture that is `liked`, or that is loading
  /** @type {import("../data/explanations.js").Explanations|null} */
  let of = null; // the explanations that have it
  /** @type {Source|null} */
  let source = null;
  let stop = new AbortController();
  return { follow, close };

  function follow() {
    const { beside, liked } = app.selection;
    const { explanations } = app.source;
    if (beside !== OPERATED) {
      close();
      [known, of] = [app.facing() ? beside : "", explanations]; // `meet` takes it
    } else if (known !== liked || of !== explanations) {
      close();
      [known, of] = [liked, explanations];
      explanations.like(null);
      if (liked && explanations.compares) open(liked, explanations);
    }
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
      render();
    } catch {
      // Nobody has the picture any more: the headline tells the answer.
    }
  }

  function close() {
    stop.abort();
    stop = new AbortController();
    source?.dispose();
    [source, known] = [null, ""];
  }
}
