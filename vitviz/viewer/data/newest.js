/** Newest: questions that overtake each other, of which only the last matters. */

/** The error for a request that a newer one has overtaken. */
export class Overtaken extends Error {}

/**
 * Wraps `ask` so that one question is asked at a time and at most one waits. A new question replaces the
 * waiting one, which is never asked, so that fast input does not fill the host's queue. A waiting question
 * whose signal is aborted is not asked either.
 * @template Question, Reply
 * @param {(question: Question) => Promise<Reply>} ask
 * @returns {(question: Question, signal?: AbortSignal) => Promise<Reply>}
 *   rejects with `Overtaken`, or with the reason of the signal
 */
export function newestOf(ask) {
  let busy = false;
  /**
   * @type
   *   {null|{question: Question, signal?: AbortSignal, resolve: (reply: any) => void, reject: (error: Error) => void}}
   */
  let waiting = null;
  return (question, signal) =>
    new Promise((resolve, reject) => {
      waiting?.reject(new Overtaken("overtaken"));
      waiting = { question, signal, resolve, reject };
      next();
    });

  function next() {
    if (busy || !waiting) return;
    const { question, signal, resolve, reject } = waiting;
    [busy, waiting] = [true, null];
    Promise.resolve()
      .then(() => {
        signal?.throwIfAborted();
        return ask(question);
      })
      .then(resolve, reject)
      .finally(() => {
        busy = false;
        next();
      });
  }
}
