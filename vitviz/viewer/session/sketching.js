/**
 * Sketching: while a hand moves, this page asks the model for its answer alone and draws only what says it;
 * the rest follows when the hand rests.
 */

import { derived } from "../state/derivedapp.js";
import { OPERATED, read } from "../state/experiment.js";

/** @typedef {ReturnType<typeof createSketching>} Sketching */

/** Time without a change after which the hand counts as resting. */
const RESTS_MS = 250;

/**
 * @param {import("../main.js").App} app
 * @param {import("../passes/backend.js").Backend} backend
 * @param {import("../shell/screen.js").Screen} screen
 * @param {() => void} render
 */
export function createSketching(app, backend, screen, render) {
  let [timer, took] = [0, 0];
  let [moving, busy] = [false, false];
  /**
   * The last answer, and the experiment that it is of.
   * @type {{experiment: string, source: any, app: any}|null}
   */
  let last = null;
  const moves = () => moving && app.bench.underWay();
  return {
    ask,
    draws,
    answered,
    /** How long the last answer took, ms. */
    took: () => took,
    /**
     * Notes that the hand has moved, so it does not rest. Returns whether an answer is still pending, which
     * no request may overtake.
     */
    stir() {
      if (!moves()) return answered().coming;
      stay();
      return busy;
    },
  };

  /**
   * While the hand moves, draws only the answer and then the stroke, which may ask for the next answer.
   * Returns false if the whole page has to be drawn.
   */
  function draws() {
    if (!moves()) return false;
    screen.board?.answer();
    screen.board?.stage.sketch();
    return true;
  }

  /** Asks for the answer to the experiment that a hand is making; false where only a whole pass has it. */
  function ask() {
    const { source } = app;
    const { experiment } = app.selection;
    const asked = app.bench.underWay() ? backend.sketch(source, read(experiment) ?? []) : null;
    moving = busy = asked !== null;
    if (!asked) return false;
    const began = performance.now();
    const isOld = () => app.source !== source || app.selection.experiment !== experiment;
    asked.then(
      (pass) => {
        if (isOld()) return;
        [busy, took] = [false, performance.now() - began];
        last = {
          experiment,
          source,
          app: derived(app, { source: /** @type {any} */ ({ manifest: { ...source.manifest, pass } }) }),
        };
        render();
      },
      () => isOld() || rest(),
    ); // the whole pass says why not
    stay();
    return true;
  }

  function stay() {
    clearTimeout(timer);
    timer = setTimeout(() => (busy ? render() : rest()), RESTS_MS);
  }

  function rest() {
    moving = busy = false;
    render();
  }

  /**
   * The app of the changed model, perhaps with its answer alone, and whether the answer to the present
   * experiment is still pending.
   * @returns {{app: import("../main.js").App|null, coming: boolean, error: Error|null}}
   */
  function answered() {
    const { second, source } = app;
    const { experiment, beside } = app.selection;
    if (beside !== OPERATED || experiment === "") return { app: null, coming: false, error: null };
    const whole = second.key === OPERATED ? second : null;
    const mine = last?.source === source ? last : null;
    if (!moves() && whole && !whole.coming && (whole.app || whole.error))
      return { app: whole.app, coming: false, error: whole.error };
    if (mine?.experiment === experiment) return { app: mine.app, coming: false, error: null };
    return { app: (moves() ? mine?.app : null) ?? whole?.app ?? null, coming: true, error: null };
  }
}
