/** Taught row: the pictures with which the model was taught on this page; a press shows another of them. */

import { toRgba } from "../maths/colour.js";
import { pictureCanvas } from "../parts/canvas.js";
import { el, show } from "../parts/dom.js";
import { button } from "../parts/widgets.js";
import { labelName } from "../text/words.js";

/**
 * A picture of a class, as the model sees it, (h, w, C); number: its place among those of the class; file: the photo.
 * @typedef {{label: string, number: number, pixels: Uint8Array,
 *   file: () => Promise<import("../types.js").PhotoFile>}} TaughtPicture
 */

/**
 * @param {import("../main.js").App} app
 * @param {(picture: TaughtPicture) => void} choose
 */
export function createTaughtRow(app, choose) {
  const root = el("div", { class: "vv-taught", role: "group", hidden: true });
  let drawn = /** @type {any[]} */ ([]);
  return {
    root,
    /** @param {TaughtPicture[]} pictures  [] of a model that was not taught here */
    render(pictures) {
      show(root, pictures.length > 0);
      if (drawn[0] === pictures && drawn[1] === app.language) return;
      drawn = [pictures, app.language];
      root.setAttribute("aria-label", app.t("taughtWith"));
      root.replaceChildren(
        ...(pictures.length > 0 ? [el("span", { class: "vv-note", text: app.t("taughtWith") })] : []),
        ...pictures.map((picture) => {
          const { height, width, channels } = app.source.manifest.model.image;
          const title = labelName(picture.label, app) + " " + picture.number;
          const node = button({ title, onClick: () => choose(picture) });
          node.append(pictureCanvas(toRgba(picture.pixels, channels), height, width, ""));
          return node;
        }),
      );
    },
  };
}
