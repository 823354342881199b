/** The surroundings of the viewer: language and theme of the page, and the width that it gives. */

import { languageOf } from "../text/language.js";

/** Below this width the panels stand under the stage. */
const WIDE_PX = 860;

/**
 * Reports language, theme and size now and whenever one of them changes.
 * @param {HTMLElement} element
 * @param {(now: {language: string, theme: string, size: string}) => void} onChange
 * @returns {{language: string, theme: string, size: string, stop: () => void}}
 */
export function watchSurroundings(element, onChange) {
  const page = document.documentElement;
  const read = () => ({
    language: languageOf(page.lang),
    theme: element.closest(".dark") ? "dark" : "light",
    size: element.clientWidth >= WIDE_PX ? "wide" : "narrow",
  });
  let last = JSON.stringify(read());
  const look = () => {
    const now = read();
    const text = JSON.stringify(now);
    if (text === last) return;
    last = text;
    onChange(now);
  };
  const attributes = new MutationObserver(look);
  for (let node = element; node; node = node.parentElement) {
    attributes.observe(node, { attributeFilter: ["class", "lang"] });
  }
  const sizes = new ResizeObserver(look);
  sizes.observe(element);
  return {
    ...read(),
    stop() {
      attributes.disconnect();
      sizes.disconnect();
    },
  };
}
