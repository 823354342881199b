/**
 * Moments of a class, whole numbers that its app tells: when a guess was made, and since when guesses count.
 * They are kept on the device, because the app forgets its own in a restart.
 */

/** Keys of the notebook: of a pupil's guess, with its question; of the class of this device; of the teacher's. */
const GUESSED = "class/guessed/";
const BEGAN = "class/began";
const SINCE = "class/since";
/** Stands for all questions: since when there is this class. */
const ALL = "";

/**
 * @param {{recall: (key: string) => any, keep: (key: string, entry: any) => void}} notebook
 * @returns {Moments}
 */
export function createMoments(notebook) {
  let [now, since] = [0, 0];
  const kept = () => notebook.recall(SINCE) ?? {};
  const began = () => notebook.recall(BEGAN) ?? 0;
  return {
    hear(reply) {
      now = reply?.at ?? now;
      since = reply?.since ?? since;
      if (reply?.began > began()) notebook.keep(BEGAN, reply.began);
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
 *   count: (question: string, from: number, anew: boolean) => void}} Moments
 *   hear: takes the moments of a reply; since: when the teacher emptied a vote last, or began with a class; began:
 *   when this class began; of: when the guess of this device was made or counted; guessed: it is made now, or was
 *   counted at `at`; counting: since when guesses of a question count, or of any, as the teacher's device knows;
 *   count: takes that over from a reply, which may be that of a new class
 */
