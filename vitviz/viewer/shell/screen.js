/**
 * The screen: what stands in the element of the host: the drawing field, and the board or a message in its
 * place.
 */

import { createBoard } from "./board.js";
import { el, guardFocus, keepFocus, setText, show } from "../parts/dom.js";
import { button } from "../parts/widgets.js";
import { frameTaken } from "../saving/takehome.js";
import { createDrawing } from "../stage/drawing.js";

/**
 * @typedef {ReturnType<typeof createScreen>} Screen
 * @typedef {{key: string, values?: any, retry?: null|(() => void), label?: string}} Message  label: of the
 *   button that retries
 */

/** Delay after which the page says that something is on its way. */
const LATE_MS = 400;

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param {() => void} render
 */
export function createScreen(app, { element, taken = null, draw = null, entitle = null }, render) {
  const root = el("div", { class: "vitviz" });
  const live = el("p", { class: "vv-live", "aria-live": "polite" });
  const content = el("div");
  const lost = el("p", { class: "vv-note", role: "alert", hidden: true });
  root.append(lost, content, live);
  if (taken) frameTaken(content, taken);
  element.replaceChildren(root);
  const drawing = draw ? createDrawing(app, draw) : null;
  const pads = new ResizeObserver(lay); // hears, too, when one is opened and closed
  if (drawing) open(drawing.root);
  /** @type {Message|null} */
  let message = null; // kept to write it in another language
  let title = ""; // that the host was told
  const screen = {
    root,
    live,
    /** Null while a message stands in its place. @type {ReturnType<typeof createBoard>|null} */
    board: null,
    openDrawing: () => drawing?.open(),
    open,
    /**
     * Opens a part that is loaded as a separate file. Shows a note while the file is slow; after a failure,
     * shows a note until the next try, and rejects.
     */
    async fetching(opening) {
      const tell = (text) => {
        setText(lost, text);
        show(lost, text !== "");
      };
      tell("");
      const late = setTimeout(() => tell(app.t("partComing")), LATE_MS);
      try {
        await opening();
        tell("");
      } catch (error) {
        tell(app.t("partLost"));
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
    /** Makes the board for the source of the app. */
    showBoard() {
      const focusAgain = keepFocus(content);
      screen.clear();
      screen.board = createBoard(app);
      screen.board.arrange(root.dataset.size);
      content.replaceChildren(screen.board.root);
      drawing?.render();
      render();
      focusAgain(screen.board.stage.focus);
    },
    /** @param {Message} wanted */
    showMessage(wanted) {
      const { key, values = {}, retry = null, label = "tryAgain" } = wanted;
      message = wanted;
      screen.clear();
      const again = retry && button({ text: app.t(label), onClick: retry });
      const box = el(
        "div",
        { class: "vv-message", role: "status", tabindex: "-1" },
        el("p", { text: app.t(key, values) }),
        again,
      );
      const focusAgain = keepFocus(content);
      content.replaceChildren(box);
      focusAgain(again ?? box);
    },
    /** Writes what is shown in the language that the app has now. */
    translate() {
      if (screen.board) screen.showBoard();
      else if (message) screen.showMessage(message);
    },
    /** Draws the board; the element of the host says what is drawn. @returns {import("../types.js").View} */
    draw() {
      const { selection, taste } = app;
      root.classList.toggle("vv-smooth", taste.smooth);
      projectAll();
      document.documentElement.toggleAttribute("data-vv-plain", Boolean(app.panel().plain));
      let view = null;
      guardFocus(
        content,
        () => {
          view = screen.board.render();
        },
        screen.board.stage.focus,
      );
      // A changed model has another answer.
      lay();
      if (title !== screen.board.title()) entitle?.((title = screen.board.title()));
      const { second } = app;
      const { layer, head, direction, panel, overlay, pinned, lesson, step } = selection;
      Object.assign(element.dataset, {
        token: view.token,
        layer,
        head,
        direction,
        panel,
        overlay,
        pinned,
        lesson,
        step,
        beside: second.error
          ? "error"
          : second.app && !second.coming
            ? selection.beside
            : selection.beside && "loading",
      });
      return view;
    },
    /** Ends the board; what it drew stays until something is shown in its place. */
    clear() {
      screen.board?.destroy();
      screen.board = null;
    },
    dress({ theme, size }) {
      Object.assign(root.dataset, { theme, size });
      projectAll();
      screen.board?.arrange(size);
    },
    /** Tells the host how the viewer is. @param {"empty"|"loading"|"ready"|"error"} state */
    setState(state) {
      element.dataset.state = state;
      root.setAttribute("aria-busy", String(state === "loading"));
    },
  };
  return screen;

  /** Dresses the viewer for a projector, and on a wide page tells what lies around it. */
  function projectAll() {
    const { projector } = app.taste;
    root.classList.toggle("vv-projector", projector);
    document.documentElement.toggleAttribute("data-vv-wall", projector && root.dataset.size === "wide");
  }

  /**
   * Shows what lies in the place of the picture: the drawing field, or the camera.
   * @param {HTMLElement} pad
   */
  function open(pad) {
    root.prepend(pad);
    pads.observe(pad);
  }

  /** Lays the open pad over the board. The pad is outside the board, which is rebuilt while one draws. */
  function lay() {
    const pad = /** @type {HTMLElement|null} */ (root.querySelector(":scope > .vv-drawing:not([hidden])"));
    const board = pad ? screen.board : null;
    root.classList.toggle("vv-writing", board !== null);
    if (!board) return;
    const wide = root.dataset.size === "wide";
    // On a phone the first look has no column: there the column's box is empty.
    const place = board.root.querySelector(wide ? ".vv-left" : ".vv-frame");
    const top = place.getBoundingClientRect().top - root.getBoundingClientRect().top;
    for (const [name, size] of Object.entries({
      top,
      width: wide ? place.clientWidth : board.root.clientWidth,
      height: pad.offsetHeight,
    })) {
      root.style.setProperty("--vv-pad-" + name, size + "px");
    }
  }
}
