/** Long work in short slices, so that the page stays responsive. */

/**
 * Calls `step` until it returns true, in slices of `sliceMs`, with the page free in between.
 * Rejects with the signal's reason when it is aborted.
 * @param {() => boolean} step  does a little of the work; true when all is done
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

/** Yields to the browser, so that it can draw and handle events. */
function pause() {
  return new Promise((resolve) => {
    if (typeof requestIdleCallback === "function") requestIdleCallback(resolve, { timeout: 50 });
    else setTimeout(resolve, 0);
  });
}
