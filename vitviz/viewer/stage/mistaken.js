/** Mistaken: pictures of the camera whose answers a visitor marked as wrong, kept until it is closed. */

import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";

/** The oldest leaves when another one comes. */
const KEPT = 12;

/** @param {(key: string, values?: any) => string} say */
export function createMistaken(say) {
  let answer = ""; // what the model says of the picture that is shown; empty: nothing that can be wrong
  let view = /** @type {HTMLCanvasElement|null} */ (null);
  const [count, list, root] = [
    el("p", { class: "vv-note", role: "status" }),
    el("ul", { onclick: taken }),
    el("div", { class: "vv-mistaken" }),
  ];
  let mark = /** @type {HTMLButtonElement|null} */ (null);
  return {
    root,
    /** Writes its words in the language of the page; what is marked stays. */
    build() {
      mark = button({ text: say("camera_wrong"), title: say("camera_wrong_title"), onClick: keep });
      root.replaceChildren(mark, count, list);
      for (const one of list.querySelectorAll("button")) one.title = say("camera_unmark");
      render();
    },
    /** Takes the answer to the picture that is shown. @param {string} text @param {HTMLCanvasElement} canvas */
    hear(text, canvas) {
      [answer, view] = [text, canvas];
      render();
    },
  };

  function render() {
    const held = list.childElementCount;
    if (mark) allow(mark, answer !== ""); // it stays where it is, under the pointer or the focus
    setText(count, held > 0 ? say("camera_mistaken", { count: held }) : say("camera_seek"));
    show(list, held > 0);
  }

  function keep() {
    if (!view || !answer) return;
    const { width, height } = view;
    const mirrored = view.closest(".vv-mirrored") !== null; // kept as it was seen
    const picture = el("canvas", { width, height, class: mirrored ? "vv-mirrored" : "" });
    picture.getContext("2d").drawImage(view, 0, 0);
    const one = el(
      "button",
      { type: "button", title: say("camera_unmark") },
      picture,
      el("span", { text: answer }),
    );
    list.prepend(el("li", {}, one));
    if (list.childElementCount > KEPT) list.lastElementChild?.remove();
    render();
  }

  /** Removes the picture that was pressed. */
  function taken({ target }) {
    const item = target.closest("li");
    if (!item) return;
    item.remove();
    mark?.focus();
    render();
  }
}
