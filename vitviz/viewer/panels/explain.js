/** Panel Explain: maps that say how much every patch matters, side by side, for a chosen class, and a fair test of them. */

import { createClassMenu } from "../parts/classmenu.js";
import { el, setText } from "../parts/dom.js";
import { createExplainerList } from "../parts/explainerlist.js";
import { createExplanationMaps } from "../parts/explanationmaps.js";
import { createFairTest, fairTables } from "../parts/fairtest.js";
import { tokenTable } from "../state/saves.js";
import { FIELDS, mainExplainer, questionOf, shownExplainers, targetOf } from "../state/explaining.js";
import { className } from "../text/explaining.js";
import { plainExplainers } from "../text/plain.js";
import { analysed, lines } from "../text/python.js";
import { tokenTitle } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const explain = { id: "explain", overlay: "explain", whole: true, selects: FIELDS, create, saves, code };

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const intro = el("p", { class: "vv-intro" });
  const menu = createClassMenu(app);
  const maps = createExplanationMaps(app);
  const list = createExplainerList(app);
  const fair = createFairTest(app);
  const root = el("div", {}, intro, menu.root, maps.root,
    el("p", { class: "vv-caution", text: t("explainNoProof") }), list.root, fair.root);
  return {
    root,
    render(view) {
      const target = targetOf(app.selection, app.source);
      const token = tokenTitle(app.selection.token, app);
      setText(intro, target === null ? t("explainIntroFree", { token })
        : t("explainIntro", { label: className(target, app), token }));
      for (const part of [menu, maps, list, fair]) part.render(view);
    },
  };
}

/** The values of the maps side by side. */
function code(selection, source) {
  const { manifest } = source;
  const target = targetOf(selection, source);
  const shown = shownExplainers(selection, source);
  const calls = shown.map(({ key, needs }) => "    analysis.explain(\"" + key + "\", token=" + selection.token +
    (needs.includes("class") ? ", target=" + target : "") + "),");
  return { vitviz: lines(analysed(manifest), "shown = [", calls, "]"), torch: plainExplainers(shown.map(({ key }) => key), selection.token, target, source) };
}

/** Saves the maps side by side, and the curves and figures of the fair test if there are any. */
function saves(app) {
  const { source, selection } = app;
  const columns = {};
  const shown = shownExplainers(selection, source);
  for (const one of [...shown, mainExplainer(selection, source)]) {
    const found = source.explanations.of(questionOf(selection, source, one)).here;
    if (found) columns[one.key] = found.values;
  }
  const known = Object.keys(columns).length > 0;
  // A figure does not begin what nobody has looked at: some maps cost hundreds of passes.
  const figures = shown.every(({ key }) => key in columns) ? ["explanations"] : [];
  return { tables: { ...(known ? { explanations: tokenTable(app, columns) } : {}), ...fairTables(app) }, figures };
}
