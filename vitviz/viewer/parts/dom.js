/** Creates elements. Text enters the page only as text nodes: there is no innerHTML in the viewer. */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} props  `class`, `text`, `onclick` and other listeners, else attributes;
 *   null and false leave an attribute out, true sets it empty
 * @param {...(Node|string|null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, props = {}, ...children) {
  return dress(document.createElement(tag), props, children);
}

/** Gives a node what `el` takes. @template {Element} Made @param {Made} node @returns {Made} */
export function dress(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Sets the text of a node only when it differs, which keeps hovering free of layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows a node, or hides it if `visible` is false, null, undefined or 0. */
export function show(node, visible) {
  const hidden = !visible;
  if (node.hidden !== hidden) node.hidden = hidden;
}

/**
 * Remembers where the focus is inside a node, before its content is replaced.
 * @param {HTMLElement} node
 * @returns {(otherwise: HTMLElement) => void}  focuses the element at the same place, or `otherwise`
 *   if that cannot have the focus; a focus outside the node stays
 */
export function keepFocus(node) {
  if (!node.contains(document.activeElement)) return () => {};
  const path = [];
  for (let at = document.activeElement; at !== node; at = at.parentElement) {
    path.unshift([...at.parentElement.children].indexOf(at));
  }
  return (otherwise) => {
    /** @type {any} */
    const same = path.reduce((at, step) => at?.children[step], /** @type {Element} */ (node));
    same?.focus({ preventScroll: true });
    if (!node.contains(document.activeElement)) otherwise.focus({ preventScroll: true });
  };
}

/**
 * Draws, and moves the focus to another element if the focused one is hidden, disabled or gone then.
 * The focused element is read before drawing: some browsers take the focus away at the moment in which
 * a control is disabled, others with the next frame.
 * @param {HTMLElement} node  only a focus inside it is moved
 * @param {() => void} draw
 * @param {HTMLElement} otherwise
 */
export function guardFocus(node, draw, otherwise) {
  const held = document.activeElement;
  const mine = node.contains(held);
  draw();
  if (!mine) return;
  const lost = !node.contains(held) || held.matches(":disabled") || held.closest("[hidden]");
  // Drawing may have moved the focus itself, to an element that can have it.
  const moved = document.activeElement !== held && document.activeElement !== document.body;
  if (lost && !moved) otherwise.focus({ preventScroll: true });
}

// Each separate file of the viewer contains its own copy of this module, so ids need a random part.
const mine = Math.random().toString(36).slice(2, 8);
let count = 0;

/** An id that no other element of the page has, for labels and radio groups. */
export function freshId(stem) {
  count += 1;
  return "vitviz-" + stem + "-" + mine + "-" + count;
}
