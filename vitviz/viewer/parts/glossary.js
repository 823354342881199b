/** Underlined terms, and the card that each opens. */

import { el } from "./dom.js";
import { createDialog } from "./dialog.js";
import { cardOf, termsIn } from "../text/glossary.js";

/** Terms are looked for when nothing has been drawn for this long: texts change while the pointer moves. */
const REST_MS = 300;

/** Elements without underlined terms: controls, which have one function each, and hidden texts. */
const NOT_HERE =
  "button, a, select, label, summary, pre, code, kbd, svg, dialog, details:not([open]), " +
  [
    "[hidden]",
    "[role=application] > :not(.vv-modes)",
    ".vv-modes fieldset",
    ".vv-finding",
    ".vv-badges",
    "[role=tab]",
    "[role=img]",
    "[aria-hidden=true]",
    ".vv-live",
    ".vv-heard",
    ".vv-token-title",
    ".vv-formula",
  ].join(", ");

/** The end of a Korean word stands behind its term; a line may break at any button, but not in a word. */
const GOES_ON = /^\p{L}/u;

/**
 * @param {import("../main.js").App} app
 * @param {() => HTMLElement[]} places  in each, the first occurrence of every term is underlined
 * @returns {{dialog: HTMLDialogElement, rest: () => void, destroy: () => void}}
 *   rest: something was drawn; look for terms when no more is
 */
export function createGlossary(app, places) {
  const { t, language } = app;
  const name = el("h3");
  const text = el("p");
  const dialog = createDialog(t, name, "vv-card", text);
  let late = 0;
  return {
    dialog,
    rest() {
      clearTimeout(late);
      late = setTimeout(() => {
        for (const place of places()) mark(place);
      }, REST_MS);
    },
    destroy: () => clearTimeout(late),
  };

  function mark(place) {
    const known = new Set(
      [...place.querySelectorAll(".vv-term")]
        .filter((node) => !node.closest("[hidden]"))
        .map(({ dataset }) => dataset.term),
    );
    for (const node of textsOf(place)) {
      const found = termsIn(node.data, language).filter(({ id }) => {
        const first = !known.has(id);
        known.add(id);
        return first;
      });
      // From the end, so that the places of the others stay.
      for (const { id, start, end } of found.reverse()) {
        const word = node.splitText(start);
        const rest = word.splitText(end - start);
        const term = termOf(id, word.data);
        if (!GOES_ON.test(rest.data)) word.replaceWith(term);
        else {
          rest.splitText(1);
          word.replaceWith(el("span", { class: "vv-unbroken" }, term, rest));
        }
      }
    }
  }

  function textsOf(place) {
    const walk = document.createTreeWalker(place, 4); // text nodes
    const nodes = [];
    while (walk.nextNode()) {
      const node = /** @type {Text} */ (walk.currentNode);
      if (node.data.length > 1 && !node.parentElement.closest(NOT_HERE)) nodes.push(node);
    }
    return nodes;
  }

  function termOf(id, written) {
    return el("button", {
      type: "button",
      class: "vv-term",
      "data-term": id,
      "aria-haspopup": "dialog",
      text: written,
      onclick: (event) => {
        event.preventDefault(); // of a legend or a figure around it
        event.stopPropagation();
        open(id, event.currentTarget);
      },
    });
  }

  function open(id, from) {
    const card = cardOf(id, language);
    name.textContent = card.name;
    text.textContent = card.text;
    dialog.setAttribute("aria-label", card.name);
    dialog.showModal();
    const [at, size] = [from.getBoundingClientRect(), dialog.getBoundingClientRect()];
    const { clientWidth, clientHeight } = document.documentElement;
    const below = at.bottom + 8 + size.height <= clientHeight;
    dialog.style.left = Math.max(8, Math.min(at.left, clientWidth - size.width - 8)) + "px";
    dialog.style.top = Math.max(8, below ? at.bottom + 8 : at.top - 8 - size.height) + "px";
  }
}
