/** A slider for what takes a pass of the model. */

import { slider } from "../../parts/widgets.js";

const RESTS_MS = 150;

/**
 * A slider that asks for its value once the hand rests; until then it stays where the hand has put it.
 * @param {{label: string, min: number, max: number, step: number, format: (value: number) => string,
 *   onRest: (value: number) => any}} options
 * @returns {{root: HTMLElement, set: (value: number) => void, take: () => number|null}}  take: the value under
 *   the hand, which is not asked for any more
 */
export function restingSlider({ onRest, ...options }) {
  let [held, waits] = [/** @type {number|null} */ (null), 0];
  const whole = slider({
    ...options,
    onInput(value) {
      held = value;
      whole.set(value);
      clearTimeout(waits);
      waits = setTimeout(() => onRest(/** @type {number} */ (take())), RESTS_MS);
    },
  });
  return { root: whole.root, set: (value) => whole.set(held ?? value), take };

  function take() {
    clearTimeout(waits);
    const value = held;
    held = null;
    return value;
  }
}
