/**
 * A fold: a table or a second explanation behind its title. The browser remembers what the visitor has
 * opened.
 */

import { el } from "./dom.js";

/**
 * @param {import("../main.js").App} app
 * @param {string} name  by which it is remembered, in small letters
 * @param {string} title
 * @param {...(Node|null)} nodes
 * @returns {HTMLDetailsElement}
 */
export function createFold(app, name, title, ...nodes) {
  const opened = () => app.taste.opened.split(" ").filter(Boolean);
  const root = el(
    "details",
    { class: "vv-facts vv-second" },
    el("summary", {}, el("h4", { text: title })),
    ...nodes,
  );
  root.open = opened().includes(name);
  root.addEventListener("toggle", () => {
    const others = opened().filter((other) => other !== name);
    if (others.length < opened().length !== root.open)
      app.prefer({ opened: [...others, ...(root.open ? [name] : [])].join(" ") });
  });
  return root;
}
