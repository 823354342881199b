/**
 * Placing: moves a digit to the middle if none of the training digits lay where it lies, and tells how the
 * answer changed.
 */

import { button } from "../parts/widgets.js";
import { el, setText, show } from "../parts/dom.js";
import { broughtTo, liesElsewhere } from "../state/strokes.js";

/**
 * @param {import("../main.js").App} app
 * @param {ReturnType<typeof import("./penfield.js").createPenField>} field
 * @returns {{root: HTMLElement, render: (answer: string) => void}}  answer: to what is drawn now
 */
export function createPlacing(app, field) {
  const { t } = app;
  let moved = null; // {strokes, answer}: after a move, and the answer before it
  let latest = "";
  const note = el("span");
  const move = button({
    text: t("drawMove"),
    title: t("drawMoveTitle"),
    onClick() {
      const strokes = broughtTo(field.strokes(), app.source.manifest.model.taught_place);
      field.replace(strokes);
      moved = { strokes, answer: latest };
    },
  });
  const root = el("p", { class: "vv-note", role: "status" }, note, " ", move);
  return { root, render };

  function render(answer) {
    latest = answer;
    const strokes = field.strokes();
    const taught = app.source.manifest.model.taught_place;
    const elsewhere = taught !== null && strokes.length > 0 && liesElsewhere(strokes, taught);
    const message =
      moved?.strokes === strokes
        ? t("drawMoved", { before: moved.answer, after: answer })
        : elsewhere
          ? t("drawElsewhere", { share: Math.round(100 * taught.side) })
          : "";
    setText(note, message);
    show(move, elsewhere);
    show(root, message !== "");
  }
}
