/** Panel Patches: a patch as numbers, the responses of filters, the token it becomes, all shapes. */

import { el, setText } from "../parts/dom.js";
import { createComponents } from "./patches/components.js";
import { createFold } from "../parts/fold.js";
import { createFilters } from "./patches/filters.js";
import { createFraming } from "../stage/framing.js";
import { boxOf, middleToken } from "../maths/geometry.js";
import { createLedger } from "./patches/ledger.js";
import { UNITS, createOnePatch } from "./patches/onepatch.js";
import { createSizes } from "./patches/sizes.js";
import { ORDERS, elementAt, patchValues } from "../maths/patch.js";
import { oneOf } from "../state/panels.js";
import { createFileWaiting } from "../parts/waiting.js";
import { patchFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { tokenTitle } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const patches = {
  id: "patches",
  group: "see",
  overlay: "none",
  rests: middleToken,
  prefers: { order: oneOf(ORDERS), units: oneOf(UNITS) },
  explains: ["photo", "patches"],
  lights: () => ["patches"],
  create,
  saves,
  code,
};

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const { channels } = manifest.model.image;
  const count = channels * grid.patchHeight * grid.patchWidth;
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const numbers = createOnePatch(app);
  const filters = createFilters(app);
  const components = createComponents(app);
  const framing = createFraming(app);
  const sizes = createSizes(app);
  const waiting = createFileWaiting(app, () => app.source.picture, "pixelsLoading");
  const root = el(
    "div",
    {},
    found,
    framing.root,
    intro,
    waiting.root,
    numbers.root,
    sizes.root,
    filters.root,
    components.root,
    createFold(
      app,
      "ledger",
      t("ledger"),
      el("p", { class: "vv-intro", text: arithmetic() }),
      createLedger(app),
      el("p", { class: "vv-note", text: t("patchThreeWays") }),
    ),
  );

  return {
    root,
    render,
    destroy() {
      numbers.destroy();
      app.pointer.lit = null;
    },
  };

  function render({ token }) {
    const box = boxOf(token, grid);
    const here = waiting.get();
    setText(
      found,
      patchFinding(app, box && here ? patchValues(here, token, manifest, grid, "pixel").raw : null),
    );
    setText(
      intro,
      box
        ? t("patchIntro", {
            token: tokenTitle(token, app),
            top: box.top,
            left: box.left,
            height: box.height,
            width: box.width,
            channels,
            count,
          })
        : t("patchPrefix", { token: tokenTitle(token, app) }),
    );
    filters.render(token);
    components.render();
    framing.render();
    sizes.render();
    numbers.render(token);
  }

  function arithmetic() {
    const { height, width } = manifest.model.image;
    return t("arithmetic", {
      height,
      width,
      patchHeight: grid.patchHeight,
      patchWidth: grid.patchWidth,
      rows: grid.rows,
      cols: grid.cols,
      patches: grid.rows * grid.cols,
      prefix: grid.prefix,
      tokens: grid.tokens,
      channels,
      count,
      dim: manifest.model.embed_dim,
    });
  }
}

/** The numbers of the patch; of a prefix token, the sum of its content and its position. */
function code({ token }, { manifest, grid, embedding }, { order, units }) {
  const box = boxOf(token, grid);
  if (box) return codeOf(manifest, "patches", { token, order, units, ...box });
  return embedding.exists
    ? codeOf(manifest, "patches_prefix", { token, count: embedding.here?.count ?? manifest.model.embed_dim })
    : null;
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
  return {
    figures: app.source.embedding.exists ? ["patch", "patches"] : ["patches"],
    tables: {
      patches: {
        columns: ["element", "row", "col", "channel", "raw", "normalised"],
        rows,
      },
    },
  };
}
