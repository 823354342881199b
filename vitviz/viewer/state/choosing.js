/** Choosing: the only ways to change what is looked at and how it is drawn. */

import { remember } from "./memory.js";
import { push, redo, undo, validSelection } from "./state.js";
import { validTaste } from "./taste.js";

/**
 * The part of the app that changes selection and taste.
 * @param {import("../main.js").App} app
 * @param {() => Storage} storage
 * @param {(selected: boolean) => void} onChange  selected: the selection has changed, not the taste
 * @param {() => void} onSketch
 */
export function createChoosing(app, storage, onChange, onSketch) {
  return {
    select(wanted) {
      const next = validSelection(wanted, app.selection, app.shape());
      commit(push(app.history, next, performance.now()));
    },
    /** Selects while a hand still moves: no step of the history. */
    sketch(wanted) {
      app.settled(validSelection(wanted, app.selection, app.shape()));
      onSketch();
    },
    settled(selection) {
      app.selection = selection;
      app.history = { ...app.history, now: selection };
    },
    undo: () => commit(undo(app.history)),
    redo: () => commit(redo(app.history)),
    prefer(wanted) {
      app.taste = validTaste(wanted, app.taste, app.panels);
      remember(storage, Object.fromEntries(Object.keys(wanted).map((name) => [name, app.taste[name]])));
      onChange(false);
    },
  };

  function commit(history) {
    if (history === app.history) return;
    app.history = history;
    app.selection = history.now;
    onChange(true);
  }
}
