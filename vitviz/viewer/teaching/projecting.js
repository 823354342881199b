/** Tools of a teacher for the picture on the wall: freeze it, draw on it, cover it before a reveal. */

import { el, show } from "../parts/dom.js";
import { svg } from "../parts/svg.js";
import { allow, button } from "../parts/widgets.js";

/** The tools that are on or off, by the commands of their keys. */
export const TOOLS = ["freeze", "pen", "cover"];
/** The drawing has its own units, so that it stays in place when the picture changes its size. */
const UNITS = 1000;

/**
 * Only in projector mode; all is off when that is left.
 * @param {import("../main.js").App} app
 * @param {HTMLElement} picture  of the stage
 * @returns {{root: HTMLElement, toggle: (tool: string) => void, render: () => void}}
 *   root: the buttons
 */
export function createProjecting(app, picture) {
  const { t } = app;
  const { tools: on } = app.page; // they outlast the board, which another language or picture makes anew
  const drawing = createDrawing(picture, () => render());
  const cover = el("div", { class: "vv-cover", text: t("covered") });
  picture.append(cover);
  const buttons = TOOLS.map((tool) =>
    button({
      text: t("tool_" + tool),
      title: t("toolTitle_" + tool),
      pressed: false,
      onClick: () => toggle(tool),
    }),
  );
  const clear = button({ text: t("penClear"), title: t("penClearTitle"), onClick: () => drawing.clear() });
  const root = el(
    "div",
    { class: "vv-projecting", role: "group", "aria-label": t("projecting") },
    buttons[0],
    buttons[1],
    clear,
    buttons[2],
  );
  render();
  return { root, toggle, render };

  function toggle(tool) {
    on[tool] = !on[tool];
    app.pointer.freeze(on.freeze);
    render();
  }

  function render() {
    const { projector } = app.taste;
    if (!projector && TOOLS.some((tool) => on[tool])) {
      for (const tool of TOOLS) on[tool] = false;
      app.pointer.freeze(false);
    }
    picture.closest(".vv-board")?.classList.toggle("vv-frozen", on.freeze);
    show(root, projector);
    show(cover, on.cover);
    drawing.render(on.pen, projector);
    TOOLS.forEach((tool, at) => buttons[at].setAttribute("aria-pressed", String(on[tool])));
    allow(clear, !drawing.empty());
  }
}

/** Lines drawn by hand over the picture. */
function createDrawing(picture, onChange) {
  const root = svg("svg", {
    class: "vv-pen",
    viewBox: `0 0 ${UNITS} ${UNITS}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  picture.append(root);
  let line = null; // while the pen is down
  const placeOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = root.getBoundingClientRect();
    return (
      Math.round((UNITS * (clientX - left)) / width) + "," + Math.round((UNITS * (clientY - top)) / height)
    );
  };
  const listen = (type, act) =>
    root.addEventListener(type, (event) => {
      event.stopPropagation(); // the stage must not take it for pointing
      act?.(event);
    });
  listen("pointerdown", (event) => {
    root.setPointerCapture(event.pointerId);
    line = svg("polyline", { points: placeOf(event) + " " + placeOf(event) });
    root.append(line);
    onChange();
  });
  listen("pointermove", (event) => {
    if (line) line.setAttribute("points", line.getAttribute("points") + " " + placeOf(event));
  });
  for (const type of ["pointerup", "pointercancel"])
    listen(type, () => {
      line = null;
    });
  listen("click");
  return {
    empty: () => root.childElementCount === 0,
    clear() {
      root.replaceChildren();
      onChange();
    },
    render(drawing, shown) {
      root.classList.toggle("vv-on", drawing);
      root.classList.toggle("vv-off", !shown);
    },
  };
}
