/** The keyboard: what the viewer does when a key is pressed. Which key means what stands in state/keys.js. */

import { neighbour } from "../maths/geometry.js";
import { keyAction, letterOf } from "../state/keys.js";
import { TOOLS } from "../teaching/projecting.js";

/** Text fields, whose keys the viewer ignores. */
const FIELDS =
  "input:not([type=checkbox], [type=radio], [type=range], [type=button], [type=file]), textarea, [contenteditable]";

/**
 * @param {import("../main.js").App} app
 * @param {import("./screen.js").Screen} screen
 * @param {() => void} readAloud  says what is pointed at
 * @returns {() => void}  stops it
 */
export function listenToKeys(app, screen, readAloud) {
  const { root } = screen;
  const stop = new AbortController();
  let holds = false;
  const use = () => {
    root.dataset.used = String(performance.now());
  };
  const hear = (node, type, listener, capture = false) =>
    node.addEventListener(type, listener, { capture, signal: stop.signal });
  use();
  for (const type of ["pointerdown", "focusin"]) hear(root, type, use, true);
  hear(document, "keydown", (event) => {
    if (isMine(event)) (letterOf(event) === "x" ? hold : onKey)(event);
  });
  hear(document, "keyup", (event) => {
    if (letterOf(event) === "x") letGo();
  });
  hear(window, "blur", letGo); // the key comes up somewhere else
  return () => stop.abort();

  /**
   * A key is for the viewer in which it is pressed; where nobody else takes it, for the one that was used
   * last.
   */
  function isMine({ target, key, ctrlKey, metaKey, defaultPrevented }) {
    // A dialog has the keyboard to itself: Escape closes it and unpins nothing behind it.
    if (!screen.board || document.querySelector("dialog[open]") || target.closest(FIELDS)) return false;
    const isLetter = /^\p{L}$/u.test(key) && !ctrlKey && !metaKey;
    if (isLetter && target.matches("select")) return false; // letters choose in a menu
    if (root.contains(target)) return true;
    if (
      defaultPrevented ||
      (key === "Escape" && target !== document.body) || // of whatever has the focus
      target.closest("select, [role=dialog]") ||
      root.getClientRects().length === 0
    )
      return false;
    const others = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".vitviz[data-used]"));
    return [...others].every(({ dataset }) => Number(dataset.used) <= Number(root.dataset.used));
  }

  /** While x is held the picture is as it was before the experiment. */
  function hold(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || app.bench.list().length === 0)
      return;
    holds = true;
    app.bench.use({ shows: "before" });
  }

  function letGo() {
    if (!holds) return;
    holds = false;
    app.bench.use({ shows: "after" });
  }

  function onKey(event) {
    const board = /** @type {NonNullable<typeof screen.board>} */ (screen.board);
    const onStage = event.target === board.stage.focus;
    if (onStage && app.course.takes() && event.key.startsWith("Arrow")) {
      event.preventDefault();
      pointAt(neighbour(app.pointer.pointed ?? app.pointer.shownToken(), event.key, app.source.grid));
      return;
    }
    const moved = app.pointer.picksPartner()
      ? { ...app.selection, token: app.pointer.shownPartner() }
      : app.selection;
    const action = keyAction(event, moved, app.shape(), onStage, app.pointer.pointed);
    if (!action) return;
    const tool = TOOLS.includes(action.command);
    if (tool && !app.taste.projector) return;
    event.preventDefault();
    if (tool) board.projecting.toggle(action.command);
    else if (action.point !== undefined) pointAt(action.point);
    else if (action.select) select(action.select);
    else if (action.command === "undo") app.undo();
    else if (action.command === "redo") app.redo();
    else if (action.command === "help") board.help.showModal();
    else if (action.command === "release") app.pointer.release();
    else mark();
  }

  function pointAt(token) {
    app.pointer.point(token, false);
    readAloud();
  }

  function select(wanted) {
    app.pointer.previewed = null;
    if (wanted.token !== undefined) app.pointer.pointed = null;
    if (wanted.token === undefined) app.select(wanted);
    else app.pointer.choose(wanted.token);
  }

  /** Enter on a token: a stroke of the brush, a guess, or a pin. */
  function mark() {
    const token = app.pointer.pointed ?? app.pointer.shownToken();
    if (app.bench.paints()) app.bench.stroke([token - app.source.grid.prefix].filter((patch) => patch >= 0));
    else if (app.course.takes()) app.course.take(token);
    else app.pointer.pin(app.pointer.picksPartner() ? app.pointer.shownPartner() : app.pointer.shownToken());
  }
}
