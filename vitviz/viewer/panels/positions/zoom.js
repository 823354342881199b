/** A frame whose content can be enlarged and then scrolled. */

import { el, setText } from "../../parts/dom.js";
import { allow, button } from "../../parts/widgets.js";

const LEVELS = [1, 2, 3, 4, 6, 8];

/**
 * @param {HTMLElement} content
 * @param {(key: string, values?: any) => string} t
 * @returns {{root: HTMLElement, show: (place: {left: number, top: number}) => void}}
 *   show: scrolls a place of the content, in shares of its size, to the middle of the frame
 */
export function createZoom(content, t) {
  let at = 0;
  let middle = { left: 0.5, top: 0.5 };
  const frame = el("div", { class: "vv-zoom" }, content);
  const level = el("output", { class: "vv-zoom-level" });
  const less = button({ text: "−", title: t("zoomOut"), onClick: () => set(at - 1) });
  const more = button({ text: "+", title: t("zoomIn"), onClick: () => set(at + 1) });
  const root = el("div", {}, frame, el("div", { class: "vv-zoom-tools" }, less, level, more));
  frame.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return; // without Ctrl a wheel scrolls
      event.preventDefault();
      set(at + (event.deltaY < 0 ? 1 : -1));
    },
    { passive: false },
  );
  set(0);
  return {
    root,
    show: (place) => {
      middle = place;
      scroll();
    },
  };

  function set(wanted) {
    at = Math.max(0, Math.min(LEVELS.length - 1, wanted));
    content.style.width = 100 * LEVELS[at] + "%";
    frame.classList.toggle("vv-large", at > 0);
    allow(less, at > 0);
    allow(more, at < LEVELS.length - 1);
    setText(level, LEVELS[at] + " ×");
    scroll();
  }

  function scroll() {
    if (at === 0) return;
    frame.scrollLeft = middle.left * content.scrollWidth - frame.clientWidth / 2;
    frame.scrollTop = middle.top * content.scrollHeight - frame.clientHeight / 2;
  }
}
