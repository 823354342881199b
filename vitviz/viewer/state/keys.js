/**
 * The keyboard: which key does what. A letter counts as it is typed, on any keyboard; where another alphabet is typed,
 * as Hangul, by its place.
 */

import { neighbour, startToken } from "../maths/geometry.js";

/** The keys of the tools that projector mode has. */
const PROJECTING = { f: "freeze", w: "pen", v: "cover" };

/** The letter of a key press, "" if it has none. @param {{key: string, code: string}} event */
export function letterOf({ key, code }) {
  if (/^[!-~]$/.test(key)) return /[a-z]/i.test(key) ? key.toLowerCase() : "";
  return code?.startsWith("Key") ? code.slice(3).toLowerCase() : ""; // autofill sends events without a code
}

/**
 * The action of a key press, null if it has none.
 * @param {{key: string, code: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean,
 *   shiftKey: boolean}} event
 * @param {import("./state.js").Selection} selection
 * @param {import("./state.js").Shape} shape
 * @param {boolean} onStage  whether the picture has the focus
 * @param {number|null} pointed  the token that is pointed at
 * @returns {{select?: any, point?: number, command?: string}|null}
 *   point: the token to point at; command: undo, redo, help, release, pin, freeze, pen or cover
 */
export function keyAction(event, selection, shape, onStage, pointed = null) {
  const { key } = event;
  const letter = letterOf(event);
  // Many keyboards have brackets behind AltGr, which is Ctrl and Alt, or behind Option.
  const typed = !event.metaKey && (event.altKey || !event.ctrlKey);
  if (typed && key === "[") return { select: { layer: Math.max(0, selection.layer - 1) } };
  if (typed && key === "]") return { select: { layer: Math.min(shape.depth - 1, selection.layer + 1) } };
  if (event.ctrlKey || event.metaKey) {
    if (letter === "z" && !event.altKey) return { command: event.shiftKey ? "redo" : "undo" };
    if (letter === "y" && !event.altKey) return { command: "redo" };
    return null;
  }
  if (event.altKey) return null;
  if (onStage) {
    const action = stageAction(event, selection, shape, pointed);
    if (action) return action;
  }
  const { head } = selection;
  if (key === "," || key === ".") {
    // The mean stands before head 0.
    const at = (head === "mean" ? -1 : head) + (key === "." ? 1 : -1);
    return { select: { head: at < 0 ? "mean" : Math.min(shape.heads - 1, at) } };
  }
  if (Object.hasOwn(PROJECTING, letter)) return { command: PROJECTING[letter] };
  if (key === "?") return { command: "help" };
  if (key === "Escape" && selection.pinned) return { command: "release" };
  if (letter === "m") return { select: { head: "mean" } };
  if (letter === "d") return { select: { direction: selection.direction === "from" ? "to" : "from" } };
  if (letter === "b" && shape.besides.length > 0)
    return { select: { beside: selection.beside ? "" : shape.besides[0] } };
  return null;
}

function stageAction({ key, shiftKey }, { token }, { grid }, pointed) {
  if (key.startsWith("Arrow") && shiftKey) return { point: neighbour(pointed ?? token, key, grid) };
  if (key.startsWith("Arrow")) return { select: { token: neighbour(token, key, grid), pinned: true } };
  if (key === "Home") return { select: { token: startToken(grid), pinned: true } };
  if (key === "Enter" || key === " ") return { command: "pin" };
  return null;
}
