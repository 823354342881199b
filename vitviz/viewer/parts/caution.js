/** The sentence that stands wherever attention could be taken for an explanation. */

import { el } from "./dom.js";

/**
 * @param {(key: string) => string} t
 * @returns {HTMLElement}
 */
export function caution(t) {
  return el("p", { class: "vv-caution" }, el("span", { text: t("caution") + " " }),
    el("a", {
      href: "https://arxiv.org/abs/1902.10186", target: "_blank", rel: "noopener noreferrer",
      text: "arXiv:1902.10186",
    }));
}
