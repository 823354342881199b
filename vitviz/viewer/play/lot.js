/**
 * Lot: one data set (digits, or a visitor's own signs), its runs, and the ways to take a model out.
 */

import { createLearner } from "../learn/client.js";
import { createCarrying } from "./carrying.js";
import { Runs } from "./runs.js";

/** @typedef {ReturnType<typeof createLot>} Lot */

/**
 * @param {import("./playground.js").Digits} digits @param {import("../learn/trainer.js").Settings} settings
 * @param {{adopt: (adopted: import("../session/playing.js").Adopted) => Promise<any>, changed: () => void,
 *   request: () => void}} on
 *   changed: hears that a run has news; request: that something was begun or ended by hand
 */
export function createLot(digits, settings, { adopt, changed, request }) {
  const runs = new Runs({ digits, createLearner, changed }, settings);
  const carrying = createCarrying(runs, digits, adopt);
  let hidden = false;
  return {
    digits,
    runs,
    carrying,
    /** Whether it pauses because the tab was out of sight. */
    hidden: () => hidden,
    hide() {
      hidden ||= runs.playing;
      runs.pause();
    },
    /**
     * A new run; one that was begun by hand goes on by itself.
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
    save: () => carrying.save(runs.current),
    /** It is looked at in the viewer. @param {import("./carrying.js").Shown} shown  with it */
    show(shown) {
      runs.pause();
      return carrying.show(runs.current, shown);
    },
    /** All its workers end. */
    stop() {
      runs.stop();
      carrying.stop();
    },
  };
}
