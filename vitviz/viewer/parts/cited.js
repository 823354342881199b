/** Cited: a paper of arXiv, as a link to where it can be read. */

import { el } from "./dom.js";

/** @param {string} id  "arXiv:2010.11929" */
export const arxiv = (id) =>
  el("a", {
    href: "https://arxiv.org/abs/" + id.slice(6),
    target: "_blank",
    rel: "noopener noreferrer",
    text: id,
  });

/** A sentence with the paper that it rests on. @param {string} text @param {string} id */
export const cited = (text, id, kind = "vv-note") => el("p", { class: kind }, text + " ", arxiv(id));
