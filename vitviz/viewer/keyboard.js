/** The keyboard: what the viewer does when a key is pressed. Which key means what stands in state/keys.js. */

import { neighbour } from "./maths/geometry.js";
import { keyAction } from "./state/keys.js";
import { TOOLS } from "./teaching/projecting.js";

/**
 * @param {import("./main.js").App} app
 * @param {import("./screen.js").Screen} screen
 * @param {() => void} readAloud  says what is pointed at
 * @returns {() => void}  stops it
 */
export function listenToKeys(app, screen, readAloud) {
  screen.root.addEventListener("keydown", onKey);
  screen.root.addEventListener("keydown", (event) => hold(event, "before"));
  screen.root.addEventListener("keyup", (event) => hold(event, "after"));
  document.addEventListener("keydown", anywhere);
  return () => document.removeEventListener("keydown", anywhere);

  /** A step is taken back from anywhere in the page; a field in which one writes has steps of its own. */
  function anywhere(event) {
    const { target } = event;
    if (screen.root.contains(target) || target.matches("input, textarea, select, [contenteditable]")) return;
    if ((event.ctrlKey || event.metaKey) && screen.board) onKey(event);
  }

  /** While x is held the picture is as it was before the experiment. */
  function hold(event, shows) {
    if (event.code !== "KeyX" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches("input[type=number], textarea, select")) return;
    if (screen.board && app.bench.list().length > 0) app.bench.use({ shows });
  }

  function onKey(event) {
    const { board } = screen;
    // A dialog has the keyboard to itself: Escape closes it and unpins nothing behind it.
    if (!board || screen.root.querySelector("dialog[open]")) return;
    if (event.target.matches("input[type=number], textarea")) return; // its keys write
    const onStage = event.target === board.stage.focus;
    if (onStage && app.course.takes() && event.key.startsWith("Arrow")) {
      event.preventDefault();
      pointAt(neighbour(app.pointed ?? app.shownToken(), event.key, app.source.grid));
      return;
    }
    const moved = app.picksPartner() ? { ...app.selection, token: app.shownPartner() } : app.selection;
    const action = keyAction(event, moved, app.shape(), onStage, app.pointed);
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
    else if (action.command === "release") app.release();
    else mark();
  }

  function pointAt(token) {
    app.point(token, false);
    readAloud();
  }

  function select(wanted) {
    app.previewed = null;
    if (wanted.token !== undefined) app.pointed = null;
    if (wanted.token === undefined) app.select(wanted);
    else app.choose(wanted.token);
  }

  /** Enter on a token: a stroke of the brush, a guess, or a pin. */
  function mark() {
    if (app.bench.paints()) app.bench.stroke([app.shownToken() - app.source.grid.prefix].filter((patch) => patch >= 0));
    else if (app.course.takes()) app.course.take(app.pointed ?? app.shownToken());
    else app.pin(app.picksPartner() ? app.shownPartner() : app.shownToken());
  }
}
