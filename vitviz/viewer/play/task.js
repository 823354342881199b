/**
 * Task: what models learn here (digits, or a visitor's own signs), their runs, and the export of a model.
 */

import { createLearner } from "../learn/client.js";
import { createModelExport } from "./modelexport.js";
import { Runs } from "./runs.js";

/** @typedef {ReturnType<typeof createTask>} Task @typedef {{touch: () => void, stop: () => void}} Writer */

/**
 * @param {import("./playground.js").Digits} digits
 * @param {import("../learn/trainer.js").Settings|null} settings  null: those of the last run that was kept
 * @param {{adopt: (adopted: import("../session/playing.js").Adopted) => Promise<any>, changed: () => void,
 *   request: () => void}} on
 *   changed: hears that a run has news; request: that something was begun or ended by hand
 * @param {{snapshot: import("./runskept.js").Snapshot|null, writer: (runs: Runs) => Writer}} [kept]
 *   the runs that a tab has kept, and a writer for its later ones
 */
export function createTask(digits, settings, { adopt, changed, request }, kept) {
  let writer = /** @type {Writer|null} */ (null);
  const hear = () => {
    changed();
    writer?.touch(); // a first run has news before it is here
  };
  const runs = new Runs({ digits, createLearner, changed: hear }, settings, kept?.snapshot);
  writer = kept ? kept.writer(runs) : null;
  const modelExport = createModelExport(runs, digits, adopt);
  let hidden = false;
  return {
    digits,
    runs,
    modelExport,
    /** Whether it pauses because the tab was out of sight. */
    hidden: () => hidden,
    hide() {
      hidden ||= runs.playing;
      runs.pause();
    },
    /**
     * Starts a new run, which plays at once if it is beside the selected run, or if that has taken steps.
     * @param {import("../learn/trainer.js").Settings} wanted
     * @param {boolean} [beside]
     */
    start(wanted, beside = false) {
      const goesOn = beside || runs.current.step > 0;
      hidden = false;
      runs.start(wanted, beside);
      if (goesOn) runs.play();
      request();
    },
    play() {
      hidden = false;
      if (runs.playing) runs.pause();
      else runs.play();
      request();
    },
    save: () => modelExport.save(runs.current),
    /** Shows the selected run's model in the viewer. @param {import("./modelexport.js").Shown} shown  with it */
    show(shown) {
      runs.pause();
      return modelExport.show(runs.current, shown);
    },
    /** All its workers end. */
    stop() {
      writer?.stop();
      runs.stop();
      modelExport.stop();
    },
  };
}
