/** Guesses on the picture: the guessed patches, the strongest ones, and patches with letters. */

import { el } from "../parts/dom.js";
import { placeBox } from "./picture.js";

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createGuesses(app) {
  const { course } = app;
  const { grid } = app.source;
  const root = el("div", { class: "vv-guesses" });
  let drawn = "";
  return {
    root,
    render() {
      const boxes = course.lesson() ? boxesOf() : [];
      const now = JSON.stringify(boxes);
      if (now === drawn) return;
      drawn = now;
      root.replaceChildren(
        ...boxes.map(({ token, kind, text }) => {
          const box = el("span", { class: "vv-box vv-guess-" + kind, text });
          placeBox(box, token, grid);
          return box;
        }),
      );
    },
  };

  function boxesOf() {
    const letters = course.marks().map((token, at) => ({ token, kind: "mark", text: "AB"[at] ?? "" }));
    const kind = course.question()?.kind;
    if (kind !== "patch" && kind !== "patches") return letters;
    const guess = course.guess();
    const mine = (kind === "patch" ? [guess] : (guess ?? [])).filter(
      (token) => token >= grid.prefix && token < grid.tokens,
    );
    const truth = course.revealed() ? course.truth() : null;
    const theirs = truth ? course.gap().tokens : [];
    return [
      ...letters,
      ...theirs.filter((token) => !mine.includes(token)).map((token) => ({ token, kind: "truth", text: "" })),
      ...mine.map((token) => ({ token, kind: theirs.includes(token) ? "both" : "mine", text: "" })),
    ];
  }
}
