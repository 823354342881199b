/** At hand: things that lie about in most rooms and that the model knows, to be shown to the camera. */

import { el, setText, show } from "../parts/dom.js";
import { labelName } from "../text/words.js";

/** Their labels, without synonyms. */
const THINGS = [
  "backpack",
  "banana",
  "computer keyboard",
  "espresso",
  "lemon",
  "orange",
  "sandal",
  "sunglasses",
  "teapot",
  "teddy",
  "umbrella",
];

/**
 * A list that ticks off what the model has named.
 * @param {import("../main.js").App} app
 * @param {(key: string, values?: any) => string} say
 */
export function createAtHand(app, say) {
  const found = /** @type {Set<number>} */ (new Set());
  const items = /** @type {Map<number, HTMLElement>} */ (new Map()); // by the number of the class
  const [count, list] = [el("p", { class: "vv-note" }), el("ul")];
  const root = el("div", { class: "vv-at-hand" }, count, list);
  return { root, build, hear };

  /** Names the things in the language of the page. @param {readonly string[]} labels  of the model */
  function build(labels) {
    items.clear();
    labels.forEach((label, index) => {
      if (THINGS.includes(label.split(",")[0])) items.set(index, el("li", { text: labelName(label, app) }));
    });
    list.replaceChildren(...items.values());
    show(root, items.size > 0);
    render();
  }

  /** Hears what the model answers. @param {import("../types.js").Answer|null} answer */
  function hear(answer) {
    const [index] = answer?.classes ?? [];
    if (answer?.level !== "answer" || answer.kind !== "class" || !items.has(index)) return;
    found.add(index);
    render();
  }

  function render() {
    for (const [index, item] of items) item.toggleAttribute("data-found", found.has(index));
    const values = { count: found.size, of: items.size };
    setText(count, found.size > 0 ? say("camera_found", values) : say("camera_at_hand"));
  }
}
