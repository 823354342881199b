/** One patch: its pixels enlarged, and all of its numbers in the order in which the model reads them. */

import { hover } from "../../parts/pointing.js";
import { mapCanvas } from "../../parts/canvas.js";
import { colourTable } from "../../maths/colour.js";
import { el, setText, show } from "../../parts/dom.js";
import { boxOf } from "../../maths/geometry.js";
import { signed } from "../../maths/numbers.js";
import { ORDERS, elementAt, patchValues } from "../../maths/patch.js";
import { choice, numberBox } from "../../parts/widgets.js";

/** The forms of the numbers of a patch. */
export const UNITS = ["normalised", "raw"];

const AT_ONCE = 96; // numbers written while the pointer moves; the rest when it rests

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (token: number) => void, destroy: () => void}}
 */
export function createOnePatch(app) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const { channels } = manifest.model.image;
  const count = channels * grid.patchHeight * grid.patchWidth;
  const names = channels === 3 ? [" R", " G", " B"] : channels === 1 ? [""] : null;
  // The largest absolute value that normalising can give: the strip has colours for all values.
  const reach = Math.max(
    ...manifest.model.mean.map((mean, c) => Math.max(mean, 1 - mean) / manifest.model.std[c]),
  );
  let element = null;
  let late = 0;
  const enlarged = el("canvas", {
    class: "vv-map vv-enlarged",
    width: grid.patchWidth,
    height: grid.patchHeight,
  });
  const pixel = el("span", { class: "vv-box vv-selected" });
  const frame = el("div", { class: "vv-map-frame" }, enlarged, pixel);
  frame.style.setProperty("--vv-ratio", grid.patchWidth / grid.patchHeight);
  const strip = mapCanvas(1, count, "vv-strip");
  const marker = el("span", { class: "vv-marker" });
  const stripBar = el("div", { class: "vv-strip-bar" }, strip.canvas, marker);
  const reading = el("p", { class: "vv-under" });
  const orderChoice = choice({
    label: t("order"),
    options: ORDERS.map((value) => ({ value, text: t("order_" + value), title: t("orderTitle_" + value) })),
    onChoose: (value) => prefer({ order: value }),
  });
  const unitChoice = choice({
    label: t("units"),
    options: UNITS.map((value) => ({ value, text: t("units_" + value) })),
    onChoose: (value) => prefer({ units: value }),
  });
  const orderNote = el("p", { class: "vv-note" });
  const numbers = numberBox(t("patchNumbers"));
  const root = el(
    "div",
    { class: "vv-one-patch" },
    el("div", { class: "vv-patch-left" }, frame, reading),
    el(
      "div",
      { class: "vv-patch-right" },
      el("div", { class: "vv-pair" }, orderChoice.root, unitChoice.root),
      orderNote,
      stripBar,
      numbers,
    ),
  );
  const context = enlarged.getContext("2d");

  const pointAt = (next) => {
    element = next;
    renderElement(app.pointer.shownToken());
  };
  const atPixel = (event) => {
    const box = enlarged.getBoundingClientRect();
    const col = Math.floor(((event.clientX - box.left) / box.width) * grid.patchWidth);
    const row = Math.floor(((event.clientY - box.top) / box.height) * grid.patchHeight);
    const inside = row >= 0 && row < grid.patchHeight && col >= 0 && col < grid.patchWidth;
    const at = row * grid.patchWidth + col;
    pointAt(inside ? (app.taste.order === "pixel" ? at * channels : at) : null);
  };
  const atNumber = (event) => {
    const box = stripBar.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * count);
    pointAt(at >= 0 && at < count ? at : null);
  };
  hover(frame, atPixel, () => pointAt(null));
  hover(stripBar, atNumber, () => pointAt(null));

  return { root, render, destroy: () => clearTimeout(late) };

  function prefer(wanted) {
    element = null; // in the new order another number is at this index
    app.prefer(wanted);
  }

  function render(token) {
    const { order, units } = app.taste;
    const box = boxOf(token, grid);
    orderChoice.set(order, box !== null);
    unitChoice.set(units, box !== null);
    const picture = app.source.picture.get();
    show(root, box !== null && picture !== null);
    clearTimeout(late);
    if (!box || !picture) return;
    const { data } = context.createImageData(box.width, box.height);
    for (let row = 0; row < box.height; row++) {
      const start = 4 * ((box.top + row) * grid.width + box.left);
      data.set(picture.rgba.subarray(start, start + 4 * box.width), 4 * row * box.width);
    }
    context.putImageData(new ImageData(data, box.width, box.height), 0, 0);
    const values = patchValues(picture, token, manifest, grid, order);
    const scale = units === "raw" ? { min: 0, max: 255 } : { min: -reach, max: reach };
    strip.draw(values[units], 0, scale, colourTable(units === "raw" ? app.taste.colours : "diverging"));
    setText(orderNote, t("orderNote_" + order));
    const write = (end) => setText(numbers, numbersText(values[units], end, app.taste, channels));
    write(AT_ONCE);
    if (count > AT_ONCE) late = setTimeout(() => write(count), 120);
    renderElement(token);
  }

  function renderElement(token) {
    const { order } = app.taste;
    const box = boxOf(token, grid);
    show(pixel, element !== null);
    show(marker, element !== null);
    const picture = app.source.picture.get();
    if (!box || !picture || element === null) return setText(reading, t("pointAtPatch"));
    const { row, col, channel } = elementAt(element, channels, grid, order);
    Object.assign(pixel.style, {
      left: (100 * col) / grid.patchWidth + "%",
      top: (100 * row) / grid.patchHeight + "%",
      width: 100 / grid.patchWidth + "%",
      height: 100 / grid.patchHeight + "%",
    });
    marker.style.left = (100 * (element + 0.5)) / count + "%";
    const { raw, normalised } = patchValues(picture, token, manifest, grid, order);
    return setText(
      reading,
      t("elementReading", {
        at: element,
        row,
        col,
        channel: names ? names[channel] : " " + channel,
        raw: raw[element],
        value: signed(normalised[element], 3).trim(),
      }),
    );
  }
}

/** The first numbers of a patch in rows, each row with the number of its first element. */
function numbersText(values, end, /** @type {import("../../types.js").Taste} */ { order, units }, channels) {
  const width = String(values.length - 1).length;
  const length = order === "pixel" && channels === 3 ? 6 : 8;
  const lines = [];
  for (let start = 0; start < Math.min(end, values.length); start += length) {
    const cells = Array.from(values.subarray(start, start + length), (value) =>
      units === "raw" ? String(value).padStart(4) : signed(value).padStart(6),
    );
    lines.push(String(start).padStart(width) + "\u2502" + cells.join(" "));
  }
  return lines.join("\n");
}
