/**
 * Moments of a class, whole numbers that its app tells: when a guess was made, and since when guesses count.
 * They are kept on the device, because the app forgets its own in a restart.
 */

/**
 * Keys of the notebook. GUESSED: moment of a pupil's guess, the question follows; BEGAN: start of this
 * device's class. On the teacher's device also SINCE: moments from which on guesses count, by question;
 * HEARD: last moments heard from the app, in its present run and in the run before.
 */
const GUESSED = "class/guessed/";
const BEGAN = "class/began";
const SINCE = "class/since";
const HEARD = "class/heard";
/** Key for all questions in SINCE: the start of this class. */
const ALL = "";

/**
 * @param {{recall: (key: string) => any, keep: (key: string, entry: any) => void}} notebook
 * @param {boolean} [teaches]  whether this page is the teacher's
 * @returns {Moments}
 */
export function createMoments(notebook, teaches = false) {
  let [now, since] = [0, 0];
  const kept = () => notebook.recall(SINCE) ?? {};
  const began = () => notebook.recall(BEGAN) ?? 0;
  return {
    hear(reply) {
      now = reply?.at ?? now;
      since = reply?.since ?? since;
      if (reply?.began > began()) notebook.keep(BEGAN, reply.began);
      if (!teaches || !reply?.run) return;
      const last = notebook.recall(HEARD) ?? { at: 0, before: 0 };
      const before = last.run === reply.run ? last.before : last.at;
      notebook.keep(HEARD, { run: reply.run, at: reply.at, before });
    },
    heard() {
      const { at = 0, before = 0 } = notebook.recall(HEARD) ?? {};
      return [before, at];
    },
    since: () => since,
    began,
    of: (question) => notebook.recall(GUESSED + question) ?? 0,
    guessed: (question, at = now) => notebook.keep(GUESSED + question, at),
    counting: (question = ALL) => Math.max(kept()[ALL] ?? 0, kept()[question] ?? 0),
    count(question, from, anew) {
      if (anew) notebook.keep(SINCE, { [ALL]: from });
      else if (from > (kept()[question] ?? 0)) notebook.keep(SINCE, { ...kept(), [question]: from });
    },
  };
}

/**
 * @typedef {{hear: (reply: any) => void, since: () => number, began: () => number, of: (question: string) => number,
 *   guessed: (question: string, at?: number) => void, counting: (question?: string) => number,
 *   count: (question: string, from: number, anew: boolean) => void, heard: () => number[]}} Moments
 *   hear: takes the moments of a reply; since: when the teacher last emptied a vote or began a class; began:
 *   when this class began; of: when the guess of this device was made or counted; guessed: notes a guess as
 *   made now, or as counted at `at`; counting: moment from which on guesses count, of a question or of all,
 *   as the teacher's device stores it; count: stores that moment from a reply, `anew`: it is of a new class,
 *   and all older moments are dropped; heard: last moments that the teacher's device heard from the app, in
 *   the run before and in this one. A restarted app tells by these moments whether the device knows its class
 */
