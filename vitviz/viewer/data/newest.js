/** Newest: questions that overtake each other, of which only the last matters. */

/** The error for a request that a newer one has overtaken. */
export class Overtaken extends Error {}

/**
 * A function that asks one question at a time. While one is on its way, a new one waits; one that waits is
 * overtaken by the next and never asked, so that a quick hand does not fill the host's line. Nor is one asked
 * that nobody waits for any more when its turn comes.
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
