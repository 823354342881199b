/** Answer rows: the kinds that a visitor made up, with how sure the model is of each. */

import { percent } from "../maths/numbers.js";
import { el } from "../parts/dom.js";

/** @param {{name: string, share: number}[]} found */
export function answerRows(found) {
  const best = Math.max(...found.map(({ share }) => share));
  return found.map(({ name, share }) => {
    const fill = el("i");
    fill.style.width = 100 * share + "%";
    return el(
      "li",
      { class: share === best ? "vv-best" : "" },
      el("span", { text: name }),
      el("span", { class: "vv-play-sure", "aria-hidden": "true" }, fill),
      el("b", { text: percent(share) }),
    );
  });
}
