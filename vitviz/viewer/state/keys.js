/** The keyboard: which key does what. Letters are found by their place on it, so Korean input works. */

import { neighbour, startToken } from "../maths/geometry.js";

/** The keys of the tools that projector mode has. */
const PROJECTING = { KeyF: "freeze", KeyW: "pen", KeyV: "cover" };

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
  const { key, code } = event;
  if (event.ctrlKey || event.metaKey) {
    if (code === "KeyZ" && !event.altKey) return { command: event.shiftKey ? "redo" : "undo" };
    if (code === "KeyY" && !event.altKey) return { command: "redo" };
    return null;
  }
  if (event.altKey) return null;
  if (onStage) {
    const action = stageAction(event, selection, shape, pointed);
    if (action) return action;
  }
  const { layer, head } = selection;
  if (key === "[") return { select: { layer: Math.max(0, layer - 1) } };
  if (key === "]") return { select: { layer: Math.min(shape.depth - 1, layer + 1) } };
  if (key === "," || key === ".") {
    // The mean stands before head 0.
    const at = (head === "mean" ? -1 : head) + (key === "." ? 1 : -1);
    return { select: { head: at < 0 ? "mean" : Math.min(shape.heads - 1, at) } };
  }
  if (Object.hasOwn(PROJECTING, code)) return { command: PROJECTING[code] };
  if (key === "?") return { command: "help" };
  if (key === "Escape" && selection.pinned) return { command: "release" };
  if (code === "KeyM") return { select: { head: "mean" } };
  if (code === "KeyD") return { select: { direction: selection.direction === "from" ? "to" : "from" } };
  if (code === "KeyB" && shape.besides.length > 0)
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
