/**
 * Panel Many pictures: whether findings on one photo hold for others. Its content comes with the engine.
 */

import { percent } from "../maths/numbers.js";
import { el, setText, show } from "../parts/dom.js";
import { button } from "../parts/widgets.js";
import { codeOf } from "../text/python.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const many = {
  id: "many",
  group: "try",
  alone: true,
  whole: true,
  lights: () => [],
  create,
  saves,
  code,
};

/**
 * How far each head looks, on the mean of all pictures, in the model as it is. Null where an example is among them,
 * which is no file of the visitor's.
 */
function code({ album = [] }, { manifest }) {
  const { pass, photo } = manifest;
  if (pass.changes.length > 0 || photo.inverted || photo.stretched || album.some(({ file }) => !file))
    return null;
  return codeOf(manifest, "many", {
    pictures: album.length > 0 ? album.map(({ name }) => name) : [photo.name],
  });
}

/** The album can be of a model that was shown before. @param {import("../main.js").App} app */
function saves({ album, backend, source }) {
  const isOfModel = album && album.runner === backend.model(source.manifest.model);
  return { tables: isOfModel ? album.tables() : {}, figures: [] };
}

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const { model } = app.source.manifest;
  app.backend.prepare(model, true);
  const note = el("p", { class: "vv-text", role: "status" });
  const again = button({ text: t("tryAgain"), onClick: tryAgain });
  const root = el("div", {}, note, again);
  let view = null;
  return { root, render };

  function tryAgain() {
    app.backend.prepare(model, true);
    render();
  }

  function render() {
    const runner = app.backend.model(model);
    if (!view && runner?.state === "here") {
      view = runner.tools.many(app, runner);
      root.replaceChildren(view.root);
    }
    view?.render();
    if (view) return;
    const isLost = runner?.state === "failed" && !runner.known?.facts.unknown.length;
    show(again, isLost);
    if (runner?.state === "coming") setText(note, t("weightsComing", { share: percent(runner.share) }));
    else setText(note, t(isLost ? "manyLost" : "manyNotHere"));
  }
}
