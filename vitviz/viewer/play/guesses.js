/** Guesses: a few test digits, each with what the model takes it for and how sure it is. */

import { percent } from "../maths/numbers.js";
import { el, setText } from "../parts/dom.js";
import { digitAt, pictureOf } from "./digits.js";
import { guessOf } from "./runs.js";

export const SHOWN = 24;

/**
 * @param {import("./playground.js").Digits} digits
 * @param {import("./texts.js").Say} say
 * @param {(at: number) => void} choose
 */
export function createGuesses({ test, classes }, say, choose) {
  const places = Array.from({ length: Math.min(SHOWN, test.labels.length) }, (_, at) => {
    const sign = el("b", { "aria-hidden": "true" });
    const guess = el("span", { "aria-hidden": "true" });
    const bar = el("span", { class: "vv-play-sure", "aria-hidden": "true" }, el("i"));
    const node = el(
      "button",
      { type: "button", class: "vv-play-guess", onclick: () => choose(at) },
      pictureOf(digitAt(test, at)),
      el("span", { class: "vv-play-said" }, sign, guess),
      bar,
    );
    return { node, sign, guess, fill: /** @type {HTMLElement} */ (bar.firstChild) };
  });
  const root = el(
    "div",
    { class: "vv-play-guesses", role: "group", "aria-label": say("guesses", { count: places.length }) },
    ...places.map(({ node }) => node),
  );
  let [drawn, pressed] = [/** @type {Float32Array|null|undefined} */ (undefined), -2];
  return {
    root,
    /** @param {Float32Array|null} answers @param {number} chosen */
    render(answers, chosen) {
      if (chosen !== pressed)
        places.forEach(({ node }, at) => node.setAttribute("aria-pressed", String(at === chosen)));
      pressed = chosen;
      if (answers === drawn) return;
      drawn = answers;
      places.forEach(({ node, sign, guess, fill }, at) => {
        const truth = test.labels[at];
        const { best, sure } = answers ? guessOf(answers, at, classes.length) : { best: -1, sure: 0 };
        const state = best < 0 ? "" : best === truth ? "right" : "wrong";
        node.dataset.state = state;
        setText(sign, { right: "✓", wrong: "✗" }[state] ?? "");
        setText(guess, best < 0 ? "?" : classes[best]);
        fill.style.width = 100 * sure + "%";
        const named = { truth: classes[truth], guess: classes[best], sure: percent(sure) };
        const title =
          best < 0 ? say("digitOnly", named) : say(state === "right" ? "digitRight" : "digitWrong", named);
        if (title === node.title) return;
        node.title = title;
        node.setAttribute("aria-label", title);
      });
    },
  };
}
