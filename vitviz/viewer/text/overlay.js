/** Sentences about overlays. */

import { largest } from "../maths/colour.js";
import { multiple } from "../maths/numbers.js";
import { overlayNamed } from "../state/overlays.js";
import { aboutExplained } from "./explaining.js";
import { headName, tokenName } from "./words.js";

/** Reasons why a token never has a map of positions. */
const NOWHERE = ["noPositions", "prefix"];

/**
 * A sentence about the picture with its overlay.
 * @param {import("../main.js").App} app
 * @param {import("../state/overlays.js").Overlay} shown  with values, or painted
 * @param {number} token
 */
export function sayingOf(app, shown, token) {
  const { prefix, tokens } = app.source.grid;
  const name = token < prefix ? tokenName(token, app) : app.t("framed");
  return sentence("saying_", app, shown, {
    token: name,
    times: shown.values ? multiple(largest(shown.values, prefix, tokens) * tokens) : "",
  });
}

/**
 * A short phrase about the relation between the selected token and the bright ones.
 * @param {import("../main.js").App} app
 * @param {import("../state/overlays.js").Overlay} shown
 */
export function aboutOverlay(app, shown) {
  if (NOWHERE.includes(shown.missing)) return app.t("about_none"); // and nothing lies over it
  return sentence("about_", app, shown, { head: headName(app.selection.head, app) });
}

function sentence(start, app, shown, values) {
  const { selection } = app;
  const end = overlayNamed(shown.kind).says?.(selection, shown) ?? shown.kind;
  const what = shown.kind === "explain" ? aboutExplained(app) : "";
  const colours = shown.painting ? app.t("painted_" + shown.painting) : "";
  return app.t(start + end, { layer: selection.layer, first: selection.first, what, colours, ...values });
}
