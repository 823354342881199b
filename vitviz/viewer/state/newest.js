/** Newest: questions that overtake each other, of which only the last matters. */

/** What an overtaken question is answered with. */
export class Overtaken extends Error {}

/**
 * A function that asks one question at a time. While one is on its way, a new one waits; one that waits is
 * overtaken by the next and never asked, so that a quick hand does not fill the host's line.
 * @template Question, Reply
 * @param {(question: Question) => Promise<Reply>} ask
 * @returns {(question: Question) => Promise<Reply>}  rejects with `Overtaken`
 */
export function newestOf(ask) {
  let busy = false;
  /** @type {null|{question: Question, resolve: (reply: any) => void, reject: (error: Error) => void}} */
  let waiting = null;
  return (question) => new Promise((resolve, reject) => {
    waiting?.reject(new Overtaken("overtaken"));
    waiting = { question, resolve, reject };
    next();
  });

  function next() {
    if (busy || !waiting) return;
    const { question, resolve, reject } = waiting;
    [busy, waiting] = [true, null];
    Promise.resolve().then(() => ask(question)).then(resolve, reject).finally(() => {
      busy = false;
      next();
    });
  }
}
