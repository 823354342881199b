/** Panel Patches: a patch as numbers, the responses of filters, the token it becomes, all shapes. */

import { mapCanvas } from "../parts/canvas.js";
import { colourTable } from "../maths/colour.js";
import { el, setText, show } from "../parts/dom.js";
import { createFilters } from "../parts/filters.js";
import { createFraming } from "../parts/framing.js";
import { boxOf, middleToken } from "../maths/geometry.js";
import { createLedger } from "../parts/ledger.js";
import { signed } from "../maths/numbers.js";
import { ORDERS, elementAt, patchValues } from "../maths/patch.js";
import { oneOf } from "../state/panels.js";
import { choice } from "../parts/widgets.js";
import { createWaiting, lostText } from "../parts/waiting.js";
import { analysed, lines, loadedPlain } from "../text/python.js";
import { tokenTitle } from "../text/words.js";

/** The forms of the numbers of a patch. */
const UNITS = ["normalised", "raw"];

/** @type {import("../state/panels.js").PanelDescription} */
export const patches = {
  id: "patches", overlay: "none", rests: middleToken, prefers: { order: oneOf(ORDERS), units: oneOf(UNITS) },
  create, saves, code,
};

const AT_ONCE = 96; // numbers written while the pointer moves; the rest when it rests

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const { channels } = manifest.model.image;
  const count = channels * grid.patchHeight * grid.patchWidth;
  const names = channels === 3 ? [" R", " G", " B"] : channels === 1 ? [""] : null;
  // The largest absolute value that normalising can give: the strip has colours for all values.
  const reach = Math.max(...manifest.model.mean.map((mean, c) => Math.max(mean, 1 - mean) / manifest.model.std[c]));
  let element = null;
  let late = 0;

  const intro = el("p", { class: "vv-intro" });
  const enlarged = el("canvas", { class: "vv-map vv-enlarged",
    width: grid.patchWidth, height: grid.patchHeight });
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
  const numbers = el("pre", { class: "vv-numbers", tabindex: "0", role: "group", "aria-label": t("patchNumbers") });
  const body = el("div", { class: "vv-one-patch" },
    el("div", { class: "vv-patch-left" }, frame, reading),
    el("div", { class: "vv-patch-right" },
      el("div", { class: "vv-pair" }, orderChoice.root, unitChoice.root),
      orderNote, stripBar, numbers));
  const filters = createFilters(app);
  const framing = createFraming(app);
  const waiting = createWaiting(app, "vv-note", "vv-button", app.source.picture);
  const root = el("div", {}, framing.root, intro, waiting.root, body, filters.root, el("h4", { text: t("ledger") }),
    el("p", { class: "vv-intro", text: arithmetic() }), createLedger(app),
    el("p", { class: "vv-note", text: t("patchThreeWays") }));
  const context = enlarged.getContext("2d");

  const pointAt = (next) => {
    element = next;
    renderElement(app.shownToken());
  };
  frame.addEventListener("pointermove", (event) => {
    const box = enlarged.getBoundingClientRect();
    const col = Math.floor(((event.clientX - box.left) / box.width) * grid.patchWidth);
    const row = Math.floor(((event.clientY - box.top) / box.height) * grid.patchHeight);
    const inside = row >= 0 && row < grid.patchHeight && col >= 0 && col < grid.patchWidth;
    const at = row * grid.patchWidth + col;
    pointAt(inside ? (app.taste.order === "pixel" ? at * channels : at) : null);
  });
  stripBar.addEventListener("pointermove", (event) => {
    const box = stripBar.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * count);
    pointAt(at >= 0 && at < count ? at : null);
  });
  for (const node of [frame, stripBar]) node.addEventListener("pointerleave", () => pointAt(null));

  return {
    root, render,
    destroy() {
      clearTimeout(late);
      app.lit = null;
    },
  };

  function prefer(wanted) {
    element = null; // in the new order another number is at this index
    app.prefer(wanted);
  }

  function render({ token }) {
    const { order, units } = app.taste;
    const box = boxOf(token, grid);
    orderChoice.set(order, box !== null);
    unitChoice.set(units, box !== null);
    const picture = app.source.picture.get();
    const { error } = app.source.picture;
    waiting.render(picture ? "" : error ? lostText(t, error) : t("pixelsLoading"), error !== null);
    show(body, box !== null && picture !== null);
    setText(intro, box
      ? t("patchIntro", { token: tokenTitle(token, app), top: box.top, left: box.left,
        height: box.height, width: box.width, channels, count })
      : t("patchPrefix", { token: tokenTitle(token, app) }));
    filters.render(token);
    framing.render();
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
    setText(numbers, numbersText(values[units], AT_ONCE));
    if (count > AT_ONCE) late = setTimeout(() => setText(numbers, numbersText(values[units], count)), 120);
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
      left: (100 * col) / grid.patchWidth + "%", top: (100 * row) / grid.patchHeight + "%",
      width: 100 / grid.patchWidth + "%", height: 100 / grid.patchHeight + "%",
    });
    marker.style.left = (100 * (element + 0.5)) / count + "%";
    const { raw, normalised } = patchValues(picture, token, manifest, grid, order);
    return setText(reading, t("elementReading", { at: element, row, col,
      channel: names ? names[channel] : " " + channel, raw: raw[element],
      value: signed(normalised[element], 3).trim() }));
  }

  function numbersText(values, end) {
    const { order, units } = app.taste;
    const width = String(count - 1).length;
    const length = order === "pixel" && channels === 3 ? 6 : 8;
    const lines = [];
    for (let start = 0; start < Math.min(end, count); start += length) {
      const cells = Array.from(values.subarray(start, start + length), (value) =>
        units === "raw" ? String(value).padStart(4) : signed(value).padStart(6));
      lines.push(String(start).padStart(width) + "\u2502" + cells.join(" "));
    }
    return lines.join("\n");
  }

  function arithmetic() {
    const { height, width } = manifest.model.image;
    return t("arithmetic", { height, width, patchHeight: grid.patchHeight, patchWidth: grid.patchWidth,
      rows: grid.rows, cols: grid.cols, patches: grid.rows * grid.cols, prefix: grid.prefix,
      tokens: grid.tokens, channels, count, dim: manifest.model.embed_dim });
  }
}

/** The numbers of the patch; of a prefix token, the sum of its content and its position. */
function code({ token }, { manifest, grid, embedding }, { order, units }) {
  const box = boxOf(token, grid);
  if (!box) {
    if (!embedding.exists) return null;
    const count = embedding.here?.count ?? manifest.model.embed_dim;
    return {
      vitviz: lines(analysed(manifest), "found = analysis.embedding", "shown = (found.content + found.position)[" + token + "]"),
      torch: lines(loadedPlain(manifest), "shown = vit.embed(pixels)[0, " + token + ", :" + count + "]"),
    };
  }
  const [pixels, flat] = [units === "raw" ? "picture" : "pixels.permute(1, 2, 0)",
    order === "pixel" ? "flatten()" : "permute(2, 0, 1).flatten()"];
  const column = (values) => "torch.tensor([" + values.join(", ") + "])[:, None, None]";
  return {
    vitviz: lines(analysed(manifest),
      "patch = analysis.grid.patch(analysis." + pixels + ", token=" + token + ")  # (ph, pw, C)",
      "shown = patch." + flat),
    torch: lines(loadedPlain(manifest), "top, left = " + box.top + ", " + box.left,
      "patch = pixels[0, :, top : top + " + box.height + ", left : left + " + box.width + "]  # (C, ph, pw)",
      units === "raw" ? ["mean, std = " + column(manifest.model.mean) + ", " + column(manifest.model.std),
        "patch = (255 * (patch * std + mean)).round()"] : [],
      "shown = patch." + (order === "pixel" ? "permute(1, 2, 0).flatten()" : "flatten()")),
  };
}

/** Saves the numbers of the patch as they enter the model. */
function saves(app, { token }) {
  const { manifest, grid } = app.source;
  const picture = app.source.picture.get();
  if (!boxOf(token, grid) || !picture) return { tables: {}, figures: ["patches"] };
  const { raw, normalised } = patchValues(picture, token, manifest, grid, "pixel");
  const rows = Array.from(raw, (value, at) => {
    const { row, col, channel } = elementAt(at, manifest.model.image.channels, grid, "pixel");
    return [at, row, col, channel, value, normalised[at]];
  });
  // An analysis saved by an older version has no filters to draw.
  return { figures: app.source.embedding.exists ? ["patch", "patches"] : ["patches"], tables: { patches: {
    columns: ["element", "row", "col", "channel", "raw", "normalised"], rows } } };
}
