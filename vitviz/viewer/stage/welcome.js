/**
 * Welcome: hints on the picture until the first move, and a hand that follows the walk at the start.
 */

import { el, show } from "../parts/dom.js";
import { placeBox } from "./picture.js";
import { overlayNamed } from "../state/overlays.js";

/**
 * @param {import("../main.js").App} app
 * @param {boolean} withoutHover
 * @returns {{nodes: HTMLElement[], render: (view: import("../types.js").View) => void}}
 */
export function createWelcome(app, withoutHover) {
  const cursor = el("div", { class: "vv-cursor" });
  const invitation = el("p", {
    class: "vv-invitation",
    "aria-hidden": "true",
    text: app.t(withoutHover ? "invitationTouch" : "invitation"),
  });
  return {
    nodes: [cursor, invitation],
    render({ shown, token, pointer }) {
      const { selection, bench, course } = app;
      placeBox(cursor, app.pointer.previewed !== null && pointer === null ? token : -1, app.source.grid);
      app.page.moved ||= pointer !== null || selection.pinned || app.history.past.length > 0;
      const looks =
        shown.values !== null && overlayNamed(shown.kind).flows === true && selection.direction === "from";
      // a note has its place
      show(
        invitation,
        looks && !app.page.moved && !course.lesson() && !bench.marks() && !app.panel().note?.(app),
      );
    },
  };
}
