/** Telling: address, host and screen reader hear of what is looked at when it has rested. */

/** A selection is told when it has stayed the same this long. */
const SETTLED_MS = 250;

/**
 * @param {import("./main.js").App} app
 * @param {import("./screen.js").Screen} screen
 * @param {import("./types.js").Host} host
 */
export function createTelling(app, screen, { onSelect = null, address = null }) {
  const { live } = screen;
  let timer = 0;
  let news = false; // whether the selection has changed since the host was told
  let spoken = false; // whether a token was read aloud since the selection changed
  return {
    /** Writes selection and taste into the address when they have rested, and tells the host a selection. */
    settle(selected = false) {
      news ||= selected;
      spoken &&= !selected;
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (screen.board) address?.write(app.link());
        if (!news) return;
        news = false;
        if (!spoken) live.textContent = screen.board ? screen.board.sentence() : "";
        onSelect?.({ ...app.selection });
      }, SETTLED_MS);
    },
    /** Says what is pointed at; the sentence about a selection made before does not follow any more. */
    readAloud() {
      live.textContent = screen.board.stage.reading();
      spoken = true;
    },
    stop: () => clearTimeout(timer),
  };
}
