/** Runs kept: the runs of the digits in the browser, so that a reload of the tab does not lose them. */

import { Database, oneAfterTheOther, random } from "../data/database.js";

const KIND = "runs";
const LEARNING_MS = 5000; // pause between two writes while something learns
const SETTLED_MS = 200; // a write comes so long after the last change

/** @typedef {Awaited<ReturnType<import("./runs.js").Runs["snapshot"]>>} Snapshot */

export function createRunsKept() {
  const database = new Database();
  let [id, timer] = [KIND + "-" + random(), 0];
  return {
    /** Reads the runs that this tab has kept; null: none. @returns {Promise<Snapshot|null>} */
    async read() {
      let found = /** @type {Snapshot|null} */ (null);
      await database.read((one) => {
        if (one.kind === KIND) [id, found] = [one.id, one.snapshot];
      });
      return found;
    },
    /**
     * touch: call it whenever a run has news; it writes every few seconds, and once nothing learns. stop: ends
     * all writing.
     * @param {import("./runs.js").Runs} runs
     */
    writer(runs) {
      let isOver = false;
      const write = oneAfterTheOther(async () => {
        const snapshot = await runs.snapshot();
        if (isOver) return; // its runs are dropped, not forgotten
        if (snapshot.runs.length > 0) await database.put(/** @type {any} */ ({ id, kind: KIND, snapshot }));
        else await database.delete(id);
      });
      const later = (milliseconds) => setTimeout(() => ((timer = 0), write()), milliseconds);
      return {
        touch() {
          if (isOver) return;
          if (runs.playing) timer ||= later(LEARNING_MS);
          else {
            clearTimeout(timer);
            timer = later(SETTLED_MS);
          }
        },
        stop() {
          isOver = true;
          clearTimeout(timer);
        },
      };
    },
  };
}
