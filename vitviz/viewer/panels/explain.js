/**
 * Panel Explain: maps that say how much every patch matters, side by side, for a chosen class, and a fair
 * test of them.
 */

import { createClassMenu } from "./explain/classmenu.js";
import { LIKE } from "../data/explanations.js";
import { el, setText, show } from "../parts/dom.js";
import { createExplainerList } from "./explain/explainerlist.js";
import { createExplanationMaps } from "./explain/explanationmaps.js";
import { createFairTest, fairTables } from "./explain/fairtest.js";
import { signed } from "../maths/numbers.js";
import { tokenTable } from "../state/saves.js";
import { FIELDS, mainExplainer, questionOf, shownExplainers, targetOf } from "../state/explaining.js";
import { className } from "../text/explaining.js";
import { explainFinding } from "../text/findings.js";
import { codeOf } from "../text/python.js";
import { whereExplained } from "../text/where.js";
import { tokenName } from "../text/words.js";

/** @type {import("../state/panels.js").PanelDescription} */
export const explain = {
  id: "explain",
  group: "why",
  overlay: "explain",
  whole: true,
  selects: FIELDS,
  lights: () => ["answer"],
  create,
  saves,
  code,
};

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const found = el("p", { class: "vv-found" });
  const intro = el("p", { class: "vv-intro" });
  const menu = createClassMenu(app);
  const maps = createExplanationMaps(app);
  const list = createExplainerList(app);
  const fair = createFairTest(app);
  const where = el("p", { class: "vv-note", role: "status" });
  const hint = el("p", { class: "vv-note", text: t("explainHint") });
  const root = el(
    "div",
    {},
    found,
    intro,
    hint,
    menu.root,
    where,
    maps.root,
    el("p", { class: "vv-caution", text: t("explainNoProof") }),
    fair.root,
    list.root,
  );
  return {
    root,
    render(view) {
      const target = targetOf(app.selection, app.source);
      const shown = shownExplainers(app.selection, app.source);
      const { explanations } = app.source;
      const files = shown.map((explainer) =>
        explanations.of(questionOf(app.selection, app.source, explainer)),
      );
      const here = shown.map((explainer, at) => ({ explainer, values: files[at].here?.values }));
      setText(found, here.every(({ values }) => values) ? explainFinding(app, here) : "");
      const token = shown.some(gathers) ? t("explainPool") : tokenName(app.selection.token, app);
      setText(
        intro,
        target === null
          ? t("explainIntroFree", { token })
          : target === LIKE
            ? t("explainIntroLike", { token, likeness: likenessIn(files) })
            : t("explainIntro", { label: className(target, app), token }),
      );
      show(hint, target === null && explanations.compares && app.comparisons.besides().some(isPicture));
      setText(where, whereExplained(app));
      show(where, where.textContent !== "");
      for (const part of [menu, maps, list, fair]) part.render(view);
    },
  };
}

/** How alike the pictures are, as the first file says that has it. */
function likenessIn(files) {
  const likeness = files.map(({ here }) => here?.likeness ?? null).find((one) => one !== null);
  return likeness === undefined ? "…" : signed(likeness).trim();
}

const isPicture = ({ kind }) => kind === "example" || kind === "photo";

/** Whether an explainer begins where a pool gathers the answer, whichever token is selected. */
const gathers = ({ needs }) => needs.includes("pool");

/** Explainers whose cells do not look into a block. */
const ANY_MODEL = ["centre", "random", "integrated_gradients", "occlusion"];

/** Parts around the attention of a block that the cells of the explainers have. */
const PLAIN_PARTS = ["qkv_bias", "qk_norm"];

/** The values of the maps side by side. */
function code(selection, source) {
  const { manifest } = source;
  const { attention_norm: norm, attention_parts: parts } = manifest.model;
  const shown = shownExplainers(selection, source);
  const keys = shown.map(({ key }) => key);
  const target = targetOf(selection, source);
  if (target === LIKE) return likenessCode(keys, selection, source);
  const code = codeOf(
    manifest,
    { vitviz: ["explain"], torch: keys.map((key) => "explain_" + key) },
    { keys, token: selection.selected ?? selection.token, target },
  );
  const plain = norm && parts.every((part) => PLAIN_PARTS.includes(part)) && !shown.some(gathers);
  return plain || keys.every((key) => ANY_MODEL.includes(key)) ? code : { ...code, torch: null };
}

/**
 * Null where `vitviz.features` gives another vector: for an embedding head, or where the other photo is
 * inverted or stretched.
 */
function likenessCode(
  keys,
  { token: shown, selected: token = shown },
  { manifest, explanations: { other } },
) {
  const { name, inverted, stretched } = other.manifest.photo;
  if (inverted || stretched || manifest.model.head === "embedding") return null;
  const code = codeOf(manifest, { vitviz: ["likeness"], torch: [] }, { keys, token, other: name });
  return code && { ...code, torch: null };
}

/** Saves the maps side by side, and the curves and figures of the fair test if there are any. */
function saves(app) {
  const { source, selection } = app;
  const columns = {};
  const shown = shownExplainers(selection, source);
  for (const explainer of [...shown, mainExplainer(selection, source)]) {
    const found = source.explanations.of(questionOf(selection, source, explainer)).here;
    if (found) columns[explainer.key] = found.values;
  }
  const known = Object.keys(columns).length > 0;
  // A figure does not begin what nobody has looked at: some maps cost hundreds of passes.
  const drawn = shown.every(({ key }) => Object.hasOwn(columns, key));
  const figures = drawn ? ["explanations"] : [];
  return {
    tables: { ...(known ? { explanations: tokenTable(app, columns) } : {}), ...fairTables(app) },
    figures,
  };
}
