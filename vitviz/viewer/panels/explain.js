/** Panel Explain: maps that say how much every patch matters, side by side, for a chosen class, and a fair test of them. */

import { createClassMenu } from "../parts/classmenu.js";
import { el, setText } from "../parts/dom.js";
import { createExplainerList } from "../parts/explainerlist.js";
import { createExplanationMaps } from "../parts/explanationmaps.js";
import { createFairTest, fairTables } from "../parts/fairtest.js";
import { tokenTable } from "../data/saves.js";
import { FIELDS, mainExplainer, questionOf, shownExplainers, targetOf } from "../maths/explaining.js";
import { className } from "../text/explaining.js";
import { analysed, lines, loadedPlain, mapsOf, queriesOf } from "../text/python.js";
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
  return { vitviz: lines(analysed(manifest), "shown = [", calls, "]"), torch: plainCode(selection, source, shown, target) };
}

/** Explainers whose definition fits into a line of plain PyTorch, given every attention map and its gradient. */
const PLAIN = {
  attention: (token) => "maps[-1].mean(1)[0, " + token + "]",
  attention_gradient: (token) => "sum((a * d).sum(1)[0, " + token + "] for a, d in zip(maps, slopes))",
};

/** The same in plain PyTorch; null where the model or a map needs more than a few lines. */
function plainCode({ token }, { manifest }, shown, target) {
  const usual = manifest.attention_norm && manifest.attention_parts.every((part) => ["qkv_bias", "qk_norm"].includes(part));
  if (!usual || !shown.every(({ key }) => key in PLAIN)) return null;
  const sloped = shown.some(({ needs }) => needs.includes("class"));
  return lines(loadedPlain(manifest), "x, maps = vit.norm_pre(vit.embed(pixels)), []", "for block in vit.blocks:",
    [...queriesOf(manifest), "maps.append(" + mapsOf(manifest) + ".requires_grad_())",
      "x = x + block.attn.proj((maps[-1] @ v).transpose(1, 2).flatten(2))", "x = x + block.mlp(block.norm2(x))"].map((line) => "    " + line),
    sloped ? ["slopes = torch.autograd.grad(vit.forward_head(vit.norm(x))[0, " + target + "], maps)"] : [],
    "shown = [" + shown.map(({ key }) => PLAIN[key](token)).join(", ") + "]");
}

/** Saves the maps side by side, and the curves and figures of the fair test if there are any. */
function saves(app) {
  const { source, selection } = app;
  const columns = {};
  for (const one of [...shownExplainers(selection, source), mainExplainer(selection, source)]) {
    const found = source.explanations.of(questionOf(selection, source, one)).here;
    if (found) columns[one.key] = found.values;
  }
  const known = Object.keys(columns).length > 0;
  return { tables: { ...(known ? { explanations: tokenTable(app, columns) } : {}), ...fairTables(app) }, figures: [] };
}
