/** One step: a step that learns from one digit, with numbers that can be checked. The step is not taken. */

import { exactly, percent } from "../maths/numbers.js";
import { el } from "../parts/dom.js";
import { button } from "../parts/widgets.js";
import { digitAt, pictureOf } from "./digits.js";

const STRIDE = 1237; // step from digit to digit: visits all of them, and the next is of another class

/**
 * @param {import("./playground.js").Digits} digits @param {import("./texts.js").Say} say
 * @param {(index: number) => Promise<any>} ask  a step for this training digit, taken apart, as the learner
 *   has it; null: no run learns
 */
export function createOneStep({ train, classes }, say, ask) {
  let index = 0;
  const list = el("ol", { class: "vv-play-steps" });
  const picture = el("div", { class: "vv-play-one" });
  const next = button({ text: say("apart"), title: say("apartTitle"), onClick: take });
  const root = el(
    "section",
    { class: "vv-play-apart", "aria-label": say("apartHead") },
    el("h3", { text: say("apartHead") }),
    el("p", { class: "vv-note", text: say("apartNote") }),
    next,
    el("div", { class: "vv-play-taken", "aria-live": "polite" }, picture, list),
  );
  return { root };

  async function take() {
    const mine = (index = (index + STRIDE) % train.labels.length);
    const found = await ask(mine);
    if (mine !== index) return; // pressed again meanwhile
    if (!found) {
      list.replaceChildren(el("li", { text: say("apartNone") }));
      return;
    }
    const { label, probabilities, loss, rate, shorter } = found;
    const { name, at, value, gradient, finite, update } = found.weight;
    const right = probabilities[label];
    picture.replaceChildren(pictureOf(digitAt(train, mine)));
    list.replaceChildren(
      ...[
        say("apartForward", { label: classes[label], share: percent(right) }),
        say("apartLoss", { share: exactly(right), loss: exactly(loss) }),
        say("apartGradient", {
          at,
          name,
          value: exactly(value),
          gradient: exactly(gradient),
          finite: exactly(finite),
        }),
        say("apartUpdate", {
          rate: exactly(rate),
          value: exactly(value),
          update: exactly(Math.abs(update)),
          sign: update < 0 ? "−" : "+",
          moved: exactly(value + update),
          shorter: exactly(shorter),
        }),
      ].map((text) => el("li", { text })),
    );
  }
}
