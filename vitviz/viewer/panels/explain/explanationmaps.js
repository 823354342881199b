/** Maps of explainers side by side on the picture, each with its own scale and what it cost. */

import { explainFailure } from "../../data/files.js";
import { tableOver } from "../../maths/colour.js";
import { drawnBy } from "../../state/overlays.js";
import { digits } from "../../maths/numbers.js";
import { mainExplainer, questionOf, shownExplainers, toggled } from "../../state/explaining.js";
import { costText, explainerName } from "../../text/explaining.js";
import { tokenName } from "../../text/words.js";
import { el, setText, show } from "../../parts/dom.js";
import { createLegend } from "../../parts/legend.js";
import { createPicture } from "../../stage/picture.js";
import { explore } from "../../parts/pointing.js";
import { reasonText } from "../../parts/waiting.js";
import { button } from "../../parts/widgets.js";

/**
 * @param {import("../../main.js").App} app
 * @returns {{root: HTMLElement, render: (view: import("../../types.js").View) => void}}
 */
export function createExplanationMaps(app) {
  const root = el("div", {
    class: "vv-figures vv-explanations",
    role: "group",
    "aria-label": app.t("explainMaps"),
  });
  const made = new Map(); // key -> figure
  let placed = "";
  return {
    root,
    render(view) {
      const shown = shownExplainers(app.selection, app.source);
      const keys = shown.map(({ key }) => key);
      for (const explainer of shown)
        if (!made.has(explainer.key)) made.set(explainer.key, createFigure(app, explainer));
      if (placed !== keys.join()) {
        placed = keys.join();
        root.replaceChildren(...keys.map((key) => made.get(key).root));
      }
      const main = mainExplainer(app.selection, app.source).key;
      for (const key of keys) made.get(key).render(view, key === main, keys);
    },
  };
}

/** @param {import("../../main.js").App} app @param {import("../../types.js").Explainer} explainer */
function createFigure(app, explainer) {
  const { t } = app;
  const name = explainerName(explainer, app);
  const over = button({
    text: name,
    title: t("explainOver", { name }),
    pressed: false,
    onClick: () => app.select({ explainer: explainer.key, overlay: "explain" }),
  });
  const away = button({
    text: "✕",
    title: t("explainAway", { name }),
    onClick: () => {
      const keys = shownExplainers(app.selection, app.source).map(({ key }) => key);
      app.select({ maps: toggled(keys, explainer.key) });
    },
  });
  const picture = createPicture(app);
  const cost = el("span", { class: "vv-note" });
  const status = el("p", { class: "vv-note", role: "status" });
  const progress = el("progress", { "aria-label": t("explainComputing") });
  const again = button({ text: t("tryAgain"), onClick: () => fileOf().retry() });
  const legend = createLegend(t);
  const reading = el("p", { class: "vv-note" });
  explore(picture.root, picture.tokenOf, app);
  const root = el(
    "figure",
    { class: "vv-figure vv-explanation" },
    el("div", { class: "vv-explanation-head" }, over, away),
    cost,
    el("div", { class: "vv-explanation-body" }, picture.root, progress, status, again, legend.root, reading),
  );
  return { root, render };

  function fileOf() {
    return app.source.explanations.of(questionOf(app.selection, app.source, explainer));
  }

  function render({ token, pointer }, isMain, keys) {
    const file = fileOf();
    const found = file.get();
    const drawn = drawnBy(explainer, found, app);
    over.setAttribute("aria-pressed", String(isMain));
    show(away, keys.length > 1);
    setText(cost, costText(explainer, found, t));
    picture.render({
      source: app.source,
      token,
      pointer,
      shown: { kind: "explain", uniform: null, missing: null, ...drawn },
    });
    show(progress, file.exists && !found && !file.error);
    const { share } = file.file ?? {};
    if (share === undefined) progress.removeAttribute("value");
    else progress.value = share;
    const text = found
      ? ""
      : file.error
        ? t("explainLost", { reason: reason(file.error) })
        : t(file.exists ? "explainComputing" : "explainAbsent");
    setText(status, text);
    show(status, text !== "");
    show(again, !found && file.error !== null);
    for (const node of [legend.root, reading]) show(node, found !== null);
    if (!found) return;
    const at = pointer ?? token;
    const value = found.values[at];
    legend.render({
      scale: drawn.scale,
      colours: drawn.colours,
      table: tableOver(drawn.colours),
      uniform: null,
      ends: digits,
      marked: pointer === null ? null : value,
      note: explainer.signed ? t("explainSigned") : "",
    });
    setText(
      reading,
      tokenName(at, app) + ": " + (Number.isFinite(value) ? digits(value) : t("explainNoValue")),
    );
  }

  /** The reason why the file did not come: the host's own, in the language of the page, if it gave one. */
  function reason(error) {
    const failure = explainFailure(error);
    const own = ["error_expired", "error_no_host"].includes(failure.key);
    return own ? t(failure.key) : reasonText(app, failure);
  }
}
