/** Own row: a thing with its name, its pictures, and the ways to add some. */

import { el, setText, show } from "../parts/dom.js";
import { fileField } from "../parts/drops.js";
import { button, entitle } from "../parts/widgets.js";
import { LONGEST_NAME } from "./signs.js";
import { thumbnailOf } from "./thumbnails.js";

const EVERY_MS = 200; // between two pictures while the button is held

/**
 * @param {{thing: import("./ownset.js").Thing, set: import("./ownset.js").OwnSet, say: import("./texts.js").Say,
 *   image: {height: number, width: number, channels: number}, on: Record<string, (...all: any[]) => any>}} of
 */
export function createRow({ thing, set, say, image, on }) {
  const thumbnails = /** @type {Map<import("./ownset.js").Picture, HTMLButtonElement>} */ (new Map());
  const name = el("input", {
    type: "text",
    class: "vv-signs-name",
    maxlength: LONGEST_NAME,
    oninput: () => on.typed(name.value),
    onchange: () => on.rename(name.value),
  });
  const input = fileField("image/*", on.files, true);
  const [have, list] = [el("span", { class: "vv-note" }), el("div", { class: "vv-signs-drawings" })];
  const hold = button({ text: say("ownHold"), onClick: () => {} });
  hold.classList.add("vv-own-hold", "vv-play-player");
  const files = button({ text: say("ownFiles"), onClick: () => input.click() });
  const screen = button({ text: say("ownScreen"), onClick: on.screen });
  const gone = button({ text: "✕", onClick: on.remove });
  const held = holding(hold, () => {
    const group = set.group();
    return () => on.shoot(group);
  });
  const root = el(
    "div",
    { class: "vv-signs-kind", role: "group", onfocusin: on.choose },
    thing.none ? el("b", { text: say("ownNone"), title: say("ownOthersTitle") }) : name,
    have,
    hold,
    files,
    screen,
    gone,
    input,
    list,
  );
  return {
    thing,
    root,
    /** @param {{name: string, place: number, films: boolean}} now  films: the camera is on */
    render({ name: called, place, films }) {
      if (document.activeElement !== name) name.value = thing.name;
      name.placeholder = called;
      root.setAttribute("aria-label", called);
      name.setAttribute("aria-label", say("ownName", { place }));
      setText(have, say("ownHave", { count: thing.pictures.length }));
      entitle(hold, say("ownHoldTitle", { name: called }));
      entitle(files, say("ownFilesTitle", { name: called }));
      entitle(screen, say("ownScreenTitle", { name: called }));
      entitle(gone, say("ownGone", { name: called }));
      show(hold, films);
      if (!films) held.end();
      for (const [picture, node] of thumbnails) {
        if (thing.pictures.includes(picture)) continue;
        if (node === document.activeElement)
          /** @type {any} */ (node.nextElementSibling ?? node.previousElementSibling ?? files).focus();
        node.remove();
        thumbnails.delete(picture);
      }
      thing.pictures.forEach((picture, at) => {
        let node = thumbnails.get(picture);
        if (!node) {
          node = button({ onClick: () => on.drop(picture) });
          node.classList.add("vv-signs-drawing");
          node.append(thumbnailOf(picture.pixels, image));
          thumbnails.set(picture, node);
        }
        entitle(node, say("ownDrop", { number: at + 1, name: called }));
        if (list.children[at] !== node) list.insertBefore(node, list.children[at] ?? null);
      });
    },
  };
}

/**
 * Does something at once and again and again while a button is held, by pointer or key.
 * @param {HTMLElement} node
 * @param {() => () => void} begin  gives what is done
 */
function holding(node, begin) {
  let timer = 0;
  const end = () => {
    clearInterval(timer);
    timer = 0;
  };
  const start = () => {
    if (timer) return;
    const act = begin();
    act();
    timer = setInterval(act, EVERY_MS);
  };
  const isKey = ({ key }) => key === " " || key === "Enter";
  // A screen reader, or speech control, gives a click alone.
  node.addEventListener("click", ({ detail }) => {
    if (detail === 0) begin()();
  });
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    node.setPointerCapture(event.pointerId);
    start();
  });
  for (const type of ["pointerup", "pointercancel", "lostpointercapture", "blur"])
    node.addEventListener(type, end);
  node.addEventListener("contextmenu", (event) => event.preventDefault()); // of a finger that stays
  node.addEventListener("keydown", (event) => {
    if (!isKey(event)) return;
    event.preventDefault();
    start();
  });
  node.addEventListener("keyup", (event) => {
    if (!isKey(event)) return;
    event.preventDefault(); // no click follows
    end();
  });
  return { end };
}
