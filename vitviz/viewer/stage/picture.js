/**
 * The picture, as the model saw it or under a spotlight, with an overlay, and boxes around the shown and the
 * pointed token.
 */

import { mapCanvas, photoCanvas, pixelCanvas } from "../parts/canvas.js";
import { SPOTLIGHT, greyTable, tableOver } from "../maths/colour.js";
import { el, show } from "../parts/dom.js";
import { percentBox, tokenAt } from "../maths/geometry.js";
import { createMarks } from "./marks.js";
import { digits, signed } from "../maths/numbers.js";
import { overlayNamed } from "../state/overlays.js";
import { tokenName, valueText } from "../text/words.js";

/**
 * @param {import("../main.js").App} app
 * @param {...HTMLElement} above  elements over the overlay and under the box of the shown token
 * @returns {{root: HTMLElement, lines: HTMLElement,
 *   render: (view: import("../types.js").View, bare?: boolean, changed?:
 *     import("../data/source.js").Source|null) => void,
 *   tokenOf: (event: MouseEvent) => number|null}}
 *   lines: the lines between the patches; bare: without an overlay, the photo as bright as it is; changed:
 *   the source whose
 *     pixels stand there in place of those of this one
 */
export function createPicture(app, ...above) {
  const { grid, manifest } = app.source;
  const { height, width } = manifest.model.image;
  const pixels = pixelCanvas(height, width, "vv-pixels");
  // A picture of few pixels is shown as squares; one of many pixels looks better smoothed.
  pixels.canvas.classList.toggle("vv-coarse", Math.max(height, width) <= 160);
  const photo = photoCanvas("vv-photograph");
  const overlay = mapCanvas(grid.rows, grid.cols, "vv-overlay");
  const grey = mapCanvas(grid.rows, grid.cols, "vv-grey"); // under the shade of a spotlight
  for (const { canvas } of [overlay, grey]) {
    canvas.style.width = (100 * grid.cols * grid.patchWidth) / width + "%";
    canvas.style.height = (100 * grid.rows * grid.patchHeight) / height + "%";
  }
  const lines = el("div", { class: "vv-lines" });
  lines.style.width = overlay.canvas.style.width;
  lines.style.height = overlay.canvas.style.height;
  lines.style.setProperty("--vv-cols", grid.cols);
  lines.style.setProperty("--vv-rows", grid.rows);
  const pointed = el("div", { class: "vv-box vv-pointed" });
  const selected = el("div", { class: "vv-box vv-selected" });
  let gone = null; // marks on the patches that are taken out, once there are some
  const root = el(
    "div",
    { class: "vv-picture" },
    pixels.canvas,
    photo.canvas,
    grey.canvas,
    overlay.canvas,
    lines,
    pointed,
    ...above,
    selected,
  );
  root.style.aspectRatio = width + " / " + height;
  root.style.setProperty("--vv-ratio", width / height);
  return {
    root,
    lines,
    render({ shown, token, pointer }, bare = false, changed = null) {
      const spotlight = shown.colours === SPOTLIGHT;
      const covered = (shown.values || shown.painted) && !bare;
      if (covered && shown.painted) overlay.drawColours(shown.painted);
      else if (covered) overlay.draw(shown.values, grid.prefix, shown.scale, tableOver(shown.colours));
      else overlay.clear();
      overlay.canvas.style.opacity = String(!covered ? 0 : spotlight ? 1 : app.taste.opacity);
      const lit = covered && spotlight && !shown.painted;
      if (lit) grey.draw(shown.values, grid.prefix, shown.scale, greyTable());
      show(grey.canvas, lit);
      pixels.draw((changed ?? app.source).picture.get()?.rgba);
      const { photograph } = app.source;
      const own = bare
        ? app.taste.sight === "photograph" && photograph.exists && !photograph.error
        : showsPhotograph(app, shown);
      photo.draw(own && !changed ? photograph.get() : null);
      const { removed = [] } = app.source.manifest.pass;
      if (removed.length > 0 && !gone) lines.before((gone = createMarks(grid)).canvas);
      gone?.draw(removed);
      show(lines, app.taste.grid);
      placeBox(selected, token, grid);
      selected.classList.toggle("vv-pinned", app.selection.pinned);
      placeBox(pointed, pointer !== null && pointer !== token ? pointer : -1, grid);
    },
    tokenOf(event) {
      const box = root.getBoundingClientRect();
      return tokenAt(event.clientX - box.left, event.clientY - box.top, box, grid);
    },
  };
}

/** Whether a map can fall as a spotlight on the photo in its own resolution. */
export function hasPhotograph({ source: { photograph } }, shown) {
  return shown.kind !== "none" && shown.colours === SPOTLIGHT && photograph.exists && !photograph.error;
}

/** Whether the picture under an overlay is the photo in its own resolution, and not what the model saw. */
export function showsPhotograph(app, shown) {
  return app.taste.sight === "photograph" && hasPhotograph(app, shown);
}

/** Whether an analysis that opens with this selection shows the photograph first. */
export function beginsWithPhotograph({ taste }, { overlay }) {
  return overlayNamed(overlay).ahead === true && taste.colours === SPOTLIGHT && taste.sight === "photograph";
}

/** Lays a box over the patch of a token; hides it for a prefix token and for -1. */
export function placeBox(box, token, grid) {
  const place = percentBox(token, grid);
  show(box, place !== null);
  if (place) Object.assign(box.style, place);
}

/**
 * A token with its value on the map: "row 4, col 7: 0.0213 = 4.2 x uniform".
 * @param {import("../main.js").App} app
 * @param {import("../state/overlays.js").Overlay} shown
 * @param {number} token
 * @returns {string}
 */
export function readingOf(app, shown, token) {
  const { grid, manifest } = app.source;
  const name = tokenName(token, app);
  if (manifest.pass.removed?.includes(token - grid.prefix)) return app.t("removedPatch", { name });
  const value = shown.values?.[token];
  if (!Number.isFinite(value)) return name;
  const number =
    overlayNamed(shown.kind).decimals === null
      ? digits(value)
      : shown.uniform === null
        ? signed(value, 3).trim()
        : valueText(value, app.source.grid.tokens, app.t);
  return app.t("underPointer", { name, value: number });
}
