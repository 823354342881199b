/** Long work in short pieces, so that the pointer never waits. */

/**
 * Calls `step` until it returns true, in slices of `sliceMs`, with the page free in between.
 * Rejects with the signal's reason when it is aborted.
 * @param {() => boolean} step  does a little and says whether all is done
 * @param {{signal?: AbortSignal, sliceMs?: number, onSlice?: () => void}} options
 * @returns {Promise<void>}
 */
export async function inSlices(step, { signal, sliceMs = 8, onSlice } = {}) {
  for (;;) {
    signal?.throwIfAborted();
    const end = performance.now() + sliceMs;
    let done = false;
    do done = step();
    while (!done && performance.now() < end);
    onSlice?.();
    if (done) return;
    await pause();
  }
}

/** A moment in which the browser may draw and listen. */
export function pause() {
  return new Promise((resolve) => {
    if (typeof requestIdleCallback === "function") requestIdleCallback(resolve, { timeout: 50 });
    else setTimeout(resolve, 0);
  });
}
