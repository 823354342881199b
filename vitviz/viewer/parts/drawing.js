/** Drawing: a field for pen, finger, mouse and keys; the model answers whenever the pen rests. */

import { answerOf, rivalsOf } from "../text/answer.js";
import { begun, extended, moved } from "../state/strokes.js";
import { el, setText, show } from "./dom.js";
import { percent } from "../maths/numbers.js";
import { reasonOf } from "../text/refusal.js";
import { allow, button, choice, slider } from "./widgets.js";

/** Pixels of the picture that is sent, in height and width. */
const SIDE = 280;
/** The pen rests when it has not moved for so long. */
const REST_MS = 50;
/** Steps of the arrow keys across the field, as many as a digit of MNIST has pixels. */
const STEPS = 28;
/** Widths of the pen in such pixels. */
const [THIN, USUAL, THICK] = [1, 2.5, 5];
/** Ink and ground. */
const INKS = { light: ["#ffffff", "#000000"], dark: ["#15171c", "#f4f1ea"] };

/**
 * @param {import("../main.js").App} app
 * @param {(picture: Blob, name: string, first: boolean) => Promise<void>} send  shows a picture to the model of
 *   digits where it is the first, else to the one that is chosen
 * @returns {{root: HTMLElement, open: () => void, render: () => void}}
 */
export function createDrawing(app, send) {
  /** @type {import("../state/strokes.js").Stroke[]} */
  let strokes = [];
  /** @type {import("../state/strokes.js").Pen} */
  let pen = { at: [0.5, 0.2], down: false };
  let [width, ink, drawing] = [USUAL, "light", false];
  let [resting, sent, movedAt, language] = [0, 0, 0, ""];
  let parts = null;
  let opener = null; // what had the focus before
  const root = el("section", { class: "vv-drawing", hidden: true });
  // The keys of the viewer mean something else here.
  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key === "z" && (event.ctrlKey || event.metaKey)) undo();
  });
  return {
    root,
    open() {
      if (root.hidden) opener = document.activeElement;
      show(root, true);
      render();
      root.scrollIntoView({ block: "nearest" });
      parts.field.focus({ preventScroll: true });
    },
    render,
  };

  function close() {
    show(root, false);
    opener?.focus();
  }

  /** Draws the answer; and all of it anew in another language. */
  function render() {
    if (root.hidden) return;
    if (language !== app.language) {
      language = app.language;
      parts = build();
      root.setAttribute("aria-label", app.t("draw"));
      paint();
    }
    answer();
  }

  function build() {
    const { t } = app;
    const help = el("p", { class: "vv-note", id: "vv-drawing-help", text: t("drawHelp") });
    const canvas = el("canvas", { width: SIDE, height: SIDE });
    const grid = el("div", { class: "vv-drawing-grid" });
    const mark = el("span", { class: "vv-drawing-pen", hidden: true });
    const field = el("div", { class: "vv-drawing-field", tabindex: "0", role: "application", "aria-label": t("drawField"),
      "aria-describedby": help.id }, canvas, grid, mark);
    const where = el("p", { class: "vv-note", role: "status" });
    const said = el("div", { class: "vv-drawing-answer" });
    const back = button({ text: "↶", title: t("drawUndo"), onClick: undo });
    const clear = button({ text: t("drawClear"), title: t("drawClear"), onClick: () => change([]) });
    const inks = choice({ label: t("drawInk"), options: Object.keys(INKS).map((value) => ({ value, text: t("drawInk_" + value) })),
      onChoose(value) { ink = value; change(strokes); } });
    const thick = slider({ label: t("drawWidth"), min: THIN, max: THICK, step: 0.5, format: (value) => value.toFixed(1),
      onInput(value) { width = value; thick.set(width); } });
    inks.set(ink);
    thick.set(width);
    listen(field, mark, where);
    root.replaceChildren(
      el("header", { class: "vv-help-head" }, el("h3", { text: t("draw") }), button({ text: "✕", title: t("close"), onClick: close })),
      el("div", { class: "vv-drawing-row" }, field,
        el("div", { class: "vv-drawing-side" }, said, el("div", { class: "vv-drawing-tools" }, inks.root, back, clear), thick.root, where, help)));
    return { canvas, field, grid, mark, said, back, clear };
  }

  function listen(field, mark, where) {
    const placeOf = ({ clientX, clientY }) => {
      const box = field.getBoundingClientRect();
      return /** @type {[number, number]} */ ([(clientX - box.left) / box.width, (clientY - box.top) / box.height]);
    };
    field.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || drawing) return; // a second finger does not write
      event.preventDefault();
      field.focus({ preventScroll: true });
      field.setPointerCapture(event.pointerId);
      drawing = event.pointerId;
      show(mark, false);
      change(begun(strokes, width / STEPS, placeOf(event)));
    });
    field.addEventListener("pointermove", (event) => {
      if (drawing !== event.pointerId) return;
      // A browser gathers fast moves into one event.
      const moves = event.getCoalescedEvents?.() ?? [];
      change((moves.length > 0 ? moves : [event]).reduce((all, one) => extended(all, placeOf(one)), strokes));
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      field.addEventListener(kind, (event) => { if (drawing === event.pointerId) lifted(); });
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

  /** A pen that is lifted rests. */
  function lifted() {
    drawing = false;
    if (resting) deliver();
  }

  function undo() {
    pen = { ...pen, down: false };
    change(strokes.slice(0, -1));
  }

  function change(next) {
    strokes = next;
    movedAt = performance.now();
    paint();
    clearTimeout(resting);
    resting = 0;
    root.dataset.sent = ""; // what is drawn now is not sent yet
    if (strokes.length > 0) resting = setTimeout(deliver, REST_MS);
    else answer();
  }

  function paint() {
    const pencil = parts.canvas.getContext("2d");
    const [stroke, ground] = INKS[ink];
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
    parts.field.classList.toggle("vv-paper", ink === "dark");
    for (const node of [parts.back, parts.clear]) allow(node, strokes.length > 0);
  }

  function deliver() {
    clearTimeout(resting);
    resting = 0;
    sent += 1;
    root.dataset.sent = nameOf(sent);
    const [name, first] = [nameOf(sent), !isDrawing()];
    parts.canvas.toBlob(async (picture) => {
      try {
        await send(picture, name, first);
      } catch (error) {
        tell(el("p", { class: "vv-note", text: app.t("drawFailed", { reason: reasonOf(error, app.language) }) }));
      }
    }, "image/png");
  }

  /** Whether the picture of the page is a drawing from here. */
  function isDrawing() {
    return sent > 0 && /^drawing-\d+\.png$/.test(app.source?.manifest.photo.name ?? "");
  }

  function answer() {
    if (!parts) return;
    if (strokes.length === 0 || !isDrawing()) {
      tell(el("p", { class: "vv-note", text: app.t("drawStart") }));
      return;
    }
    const { manifest, grid } = app.source;
    parts.grid.style.backgroundSize = 100 / grid.cols + "% " + 100 / grid.rows + "%";
    const found = answerOf(app);
    const { height, width: wide } = manifest.model.image;
    if (manifest.photo.name === nameOf(sent) && root.dataset.shown !== nameOf(sent)) {
      root.dataset.ms = String(Math.round(performance.now() - movedAt)); // since the pen moved last
    }
    tell(el("p", { class: "vv-drawing-word", text: found?.text ?? app.t("saysNothing", { height, width: wide }) }),
      ...rivalsOf(app).map(({ name, probability }) => el("p", { class: "vv-note", text: name + ": " + percent(probability) })),
      el("p", { class: "vv-note", text: app.t("drawSeen", { height, width: wide, patches: grid.rows * grid.cols }) }));
    root.dataset.shown = manifest.photo.name;
  }

  function tell(...nodes) {
    parts.said.replaceChildren(...nodes);
  }
}

const nameOf = (number) => "drawing-" + number + ".png";
