/** The pen field: a square on which pen, finger, mouse and arrow keys write. */

import { el, freshId, setText, show } from "../parts/dom.js";
import { allow, button, choice, slider } from "../parts/widgets.js";
import { begun, extended, moved } from "../state/strokes.js";

/** Pixels of the picture that is sent, in height and width. */
const SIDE = 280;
/** Steps of the arrow keys across the field, as many as a digit of MNIST has pixels. */
const STEPS = 28;
/** Widths of the pen in such pixels. */
const [THIN, MEDIUM, THICK] = [1, 2.5, 5];
/** Ink and ground. */
const INKS = { light: ["#ffffff", "#000000"], dark: ["#15171c", "#f4f1ea"] };

/**
 * @param {Pick<import("../main.js").App, "t">} app
 * @param {() => void} onChange  the strokes or the ink have changed
 * @param {() => void} onLift  the pen has left the field
 */
export function createPenField(app, onChange, onLift) {
  /** @type {import("../state/strokes.js").Stroke[]} */
  let strokes = [];
  /** @type {import("../state/strokes.js").Pen} */
  let pen = { at: [0.5, 0.2], down: false };
  let [width, ink, writing] = [MEDIUM, "light", false];
  let before = null; // the strokes before a move as a whole
  let parts = null;
  return {
    build,
    undo,
    empty: () => strokes.length === 0,
    strokes: () => strokes,
    /**
     * Replaces all strokes; one undo brings the old ones back.
     * @param {typeof strokes} next
     */
    replace(next) {
      const old = strokes;
      change(next);
      before = old;
    },
    focus: () => parts.field.focus({ preventScroll: true }),
    /** Draws the patches of a grid over the field. */
    divide(grid) {
      parts.grid.style.backgroundSize = 100 / grid.cols + "% " + 100 / grid.rows + "%";
    },
    /** @param {(picture: Blob) => void} take */
    picture: (take) => parts.canvas.toBlob(take, "image/png"),
  };

  /** Builds field and tools in the language of the app; the drawing stays. */
  function build() {
    const { t } = app;
    writing = false; // a field that leaves does not hear how a stroke ends
    const help = el("p", { class: "vv-note", id: freshId("drawing-help"), text: t("drawHelp") });
    const canvas = el("canvas", { width: SIDE, height: SIDE });
    const grid = el("div", { class: "vv-drawing-grid" });
    const mark = el("span", { class: "vv-drawing-pen", hidden: true });
    const field = el(
      "div",
      {
        class: "vv-drawing-field",
        tabindex: "0",
        role: "application",
        "aria-label": t("drawField"),
        "aria-describedby": help.id,
      },
      canvas,
      grid,
      mark,
    );
    const where = el("p", { class: "vv-note", role: "status" });
    const back = button({ text: "↶", title: t("drawUndo"), onClick: undo });
    const clear = button({ text: t("drawClear"), onClick: () => change([]) });
    const inks = choice({
      label: t("drawInk"),
      options: Object.keys(INKS).map((value) => ({ value, text: t("drawInk_" + value) })),
      onChoose(value) {
        ink = value;
        change(strokes);
      },
    });
    const thick = slider({
      label: t("drawWidth"),
      min: THIN,
      max: THICK,
      step: 0.5,
      format: (value) => value.toFixed(1),
      onInput(value) {
        width = value;
        thick.set(width);
      },
    });
    inks.set(ink);
    thick.set(width);
    listen(field, mark, where);
    parts = { canvas, field, grid, mark, back, clear };
    paint();
    return { node: field, tools: [inks.root, back, clear], thick: thick.root, where, help };
  }

  function listen(field, mark, where) {
    const placeOf = ({ clientX, clientY }) => {
      const box = field.getBoundingClientRect();
      return /** @type {[number, number]} */ ([
        (clientX - box.left) / box.width,
        (clientY - box.top) / box.height,
      ]);
    };
    field.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || writing !== false) return; // a second finger does not write
      event.preventDefault();
      field.focus({ preventScroll: true });
      field.setPointerCapture(event.pointerId);
      writing = event.pointerId;
      show(mark, false);
      change(begun(strokes, width / STEPS, placeOf(event)));
    });
    field.addEventListener("pointermove", (event) => {
      if (writing !== event.pointerId) return;
      // A browser gathers fast moves into one event.
      const moves = event.getCoalescedEvents?.() ?? [];
      change(
        (moves.length > 0 ? moves : [event]).reduce((all, move) => extended(all, placeOf(move)), strokes),
      );
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      field.addEventListener(kind, (event) => {
        if (writing === event.pointerId) lifted();
      });
    }
    field.addEventListener("keydown", (event) => {
      const at = moved(pen.at, event.key, STEPS);
      if (at) {
        if (pen.down) change(extended(strokes, at));
        pen = { ...pen, at };
      } else if (event.key === " ") {
        pen = { ...pen, down: !pen.down };
        if (pen.down) change(begun(strokes, width / STEPS, pen.at));
      } else return;
      event.preventDefault();
      show(mark, true);
      mark.classList.toggle("vv-down", pen.down);
      Object.assign(mark.style, { left: 100 * pen.at[0] + "%", top: 100 * pen.at[1] + "%" });
      const [col, row] = pen.at.map((share) => Math.round(share * STEPS));
      setText(where, app.t(pen.down ? "drawPen_down" : "drawPen_up", { row, col, steps: STEPS }));
    });
  }

  function lifted() {
    writing = false;
    onLift();
  }

  function undo() {
    pen = { ...pen, down: false };
    change(before ?? strokes.slice(0, -1));
  }

  function change(next) {
    strokes = next;
    before = null;
    if (next.length === 0) pen = { ...pen, down: false }; // nothing is left that it would go on with
    onChange();
    paint();
  }

  function paint() {
    lay(parts.canvas, strokes, INKS[ink]);
    parts.field.classList.toggle("vv-paper", ink === "dark");
    parts.mark.classList.toggle("vv-down", pen.down);
    for (const node of [parts.back, parts.clear]) allow(node, strokes.length > 0);
  }
}

/**
 * Lays strokes on their ground.
 * @param {HTMLCanvasElement} canvas
 * @param {import("../state/strokes.js").Stroke[]} strokes
 * @param {string[]} ink
 */
function lay(canvas, strokes, [stroke, ground]) {
  const pencil = canvas.getContext("2d");
  pencil.fillStyle = ground;
  pencil.fillRect(0, 0, SIDE, SIDE);
  Object.assign(pencil, { strokeStyle: stroke, fillStyle: stroke, lineCap: "round", lineJoin: "round" });
  for (const { width: wide, points } of strokes) {
    const [[x, y], ...rest] = points.map(([right, down]) => [right * SIDE, down * SIDE]);
    pencil.lineWidth = wide * SIDE;
    pencil.beginPath();
    pencil.moveTo(x, y);
    pencil.lineTo(x, y); // a dot, where the pen did not move
    for (const [right, down] of rest) pencil.lineTo(right, down);
    pencil.stroke();
  }
}
