/** Pointing: on tokens hovering previews, a click or tap pins, a sideways drag explores; elsewhere hovering reads. */

/** A finger that moved less than this is a tap. */
const TAP_PX = 8;

/**
 * Wires an element on which tokens can be pointed at.
 * @param {HTMLElement} node
 * @param {(event: PointerEvent) => number|null} tokenOf
 * @param {{pointer: Pick<import("../app.d.ts").Pointer, "point"|"pin"|"choose">}} app
 */
export function explore(node, tokenOf, app) {
  let finger = null; // {id, x, y, moved} while a finger is down
  node.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") {
      if (finger?.id !== event.pointerId) return;
      finger.moved ||= Math.hypot(event.clientX - finger.x, event.clientY - finger.y) > TAP_PX;
      if (finger.moved) app.pointer.point(tokenOf(event), true);
      return;
    }
    app.pointer.point(tokenOf(event), false);
  });
  node.addEventListener("pointerdown", (event) => {
    delete node.dataset.dragged; // the last drag was not followed by a click
    if (event.pointerType !== "touch") return;
    finger = { id: event.pointerId, x: event.clientX, y: event.clientY, moved: false };
  });
  node.addEventListener("pointerup", (event) => {
    if (finger?.id !== event.pointerId) return;
    const dragged = finger.moved;
    const token = tokenOf(event);
    finger = null;
    // The token that a finger has reached stays selected when it is lifted: a finger cannot hover.
    if (dragged && token !== null) app.pointer.choose(token);
    app.pointer.point(null, false);
    if (dragged) node.dataset.dragged = "true";
  });
  // The browser took the gesture for scrolling.
  node.addEventListener("pointercancel", () => {
    finger = null;
    app.pointer.point(null, false);
  });
  node.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") app.pointer.point(null, false);
  });
  node.addEventListener("click", (event) => {
    if (node.dataset.dragged) {
      delete node.dataset.dragged;
      return;
    }
    const token = tokenOf(event);
    if (token !== null) app.pointer.pin(token);
  });
}

/**
 * Hears what a pointer is over. What a finger has reached stays when it is lifted, for it cannot hover.
 * @param {HTMLElement} node
 * @param {(event: PointerEvent) => void} onPoint
 * @param {() => void} onLeave
 */
export function hover(node, onPoint, onLeave) {
  node.addEventListener("pointerdown", onPoint);
  node.addEventListener("pointermove", onPoint);
  node.addEventListener("pointerleave", ({ pointerType }) => {
    if (pointerType !== "touch") onLeave();
  });
}
