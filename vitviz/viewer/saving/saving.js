/** Saving: a dialog with every file that the picture and the open panel offer. */

import { ofBase64 } from "../data/files.js";
import { fileName } from "../maths/csv.js";
import { SPOTLIGHT } from "../maths/colour.js";
import { LIKE } from "../data/explanations.js";
import { mainExplainer, shownExplainers, targetOf } from "../state/explaining.js";
import { OPERATED } from "../state/experiment.js";
import { overlayNamed } from "../state/overlays.js";
import { el, setText, show } from "../parts/dom.js";
import { createDialog } from "../parts/dialog.js";
import { csvFile, download } from "../parts/download.js";
import { showsPhotograph } from "../stage/picture.js";
import { stageSaves } from "../state/saves.js";
import { snapshot } from "./snapshot.js";
import { createTakeHome } from "./takehome.js";
import { button } from "../parts/widgets.js";
import { reasonOf } from "../text/refusal.js";
import { changesOf, photoName, sideNames, sizeOf, sized, tokenTitle, translated } from "../text/words.js";

/** Figures of the analysis and of the one beside it. */
const OF_BOTH = ["answers"];

/** The explainers in a figure. */
const EXPLAINED = {
  explanation: (selection, source) => [mainExplainer(selection, source)],
  explanations: shownExplainers,
};

/**
 * @param {import("../main.js").App} app
 * @param {() => {view: import("../types.js").View, stage: HTMLElement, about: string,
 *   panel: {id: string, page: HTMLElement, saves: function|undefined}}} look  the present view and panel
 * @returns {{button: HTMLElement, dialog: HTMLDialogElement}}
 */
export function createSaving(app, look) {
  const { t } = app;
  const { manifest } = app.source;
  const ofModel = [manifest.model.name, sizeOf(manifest.model.key)];
  const list = el("div", { class: "vv-save-list" });
  const status = el("p", { class: "vv-note", role: "status" });
  const dialog = createDialog(t, t("save"), "vv-help vv-save", list, status);
  return { button: button({ text: t("saveButton"), title: t("save"), onClick: open }), dialog };

  function open() {
    const now = look();
    const { id, page, saves } = now.panel;
    say("");
    list.replaceChildren(
      section(t("savePicture"), now, now.stage, "picture", stageSaves(app, now.view)),
      section(
        t("savePanel", { panel: t("panel_" + id) }),
        now,
        page,
        id,
        saves?.(app, now.view) ?? { tables: {}, figures: [] },
      ),
      ...(app.backend.takeHome
        ? [createTakeHome(app, download, () => fileName(manifest.photo.name, ...ofModel) + ".html")]
        : []),
      ...(app.backend.ask ? [] : [el("p", { class: "vv-note", text: t("saveNoHost") })]),
    );
    dialog.showModal();
  }

  function section(title, now, node, what, { tables, figures }) {
    const { layer, head, direction } = app.selection;
    const nameOf = (...part) =>
      fileName(
        manifest.photo.name,
        manifest.photo.stretched ? "stretched" : "",
        manifest.photo.inverted ? "inverted" : "",
        manifest.pass.changes?.length > 0 ? "changed" : "",
        ...ofModel,
        ...part,
        "layer" + layer,
        head === "mean" ? "mean" : "head" + head,
        direction,
        "token" + now.view.token,
      );
    const isChanged = what === "experiment" && app.second.key === OPERATED && !app.second.coming;
    const made = what === "picture" ? manifest.save : isChanged ? app.second.app?.source.manifest.save : null;
    const item = (text, save) => button({ text, title: title + ": " + text, onClick: () => run(text, save) });
    // If there is only one table or figure, its button needs no name.
    const named = (text, name, all) =>
      all.length > 1 ? t("saveNamed", { what: text, name: t("save_" + name) }) : text;
    const items = [
      item(t("savePng"), async () =>
        download(await snapshot(node, captionOf(app, now)), nameOf(what) + ".png"),
      ),
      ...Object.entries(tables).map(([name, table], _at, all) =>
        item(named(t("saveCsv"), name, all), async () =>
          download(csvFile(table), nameOf(...new Set([what, name])) + ".csv"),
        ),
      ),
      ...(made
        ? [
            item(t(what === "picture" ? "saveWhole" : "saveAnalysis"), async () =>
              download(
                new Blob([made()]),
                nameOf(...(what === "picture" ? [] : ["changed"])) + ".safetensors",
              ),
            ),
          ]
        : []),
      ...figures
        .filter(() => app.backend.ask)
        .flatMap((kind) =>
          sidesOf(kind).flatMap(([side, name]) =>
            ["svg", "pdf"].map((format) =>
              item(
                named(
                  [t("saveFigure", { format: format.toUpperCase() }), ...(name ? [name] : [])].join(" · "),
                  kind,
                  figures,
                ),
                async () =>
                  download(
                    await drawn(kind, format, side, now.view.token),
                    nameOf(...new Set([what, kind, ...(side === app ? [] : ["beside"])])) + "." + format,
                  ),
              ),
            ),
          ),
        ),
    ];
    return el("section", {}, el("h4", { text: title }), el("div", { class: "vv-save-items" }, ...items));
  }

  /**
   * The analyses that figures of a kind are drawn from: this one, and the one beside it; with their names if
   * there are both.
   */
  function sidesOf(kind) {
    const other = app.second.coming ? null : app.second.app;
    if (!other || OF_BOTH.includes(kind)) return [[app, ""]];
    const names = sideNames(app, other);
    return [
      [app, names[0]],
      [other, names[1]],
    ];
  }

  /** A figure that the host draws, with the same selection. */
  async function drawn(kind, format, side, shown) {
    const { selection, source } = side;
    const { token, layer, head, direction, first, residual, fusion } = selection;
    // The pointer shows other maps, but another explanation would cost passes of the model.
    const explained = EXPLAINED[kind]?.(selection, source).map(({ key }) => key);
    const target = explained && targetOf(selection, source);
    const reply = await /** @type {any} */ (app.backend).ask("figure", {
      ...source.asked,
      kind,
      format,
      token: explained ? token : side === app ? shown : side.pointer.shownToken(),
      partner: side.pointer.shownPartner(),
      layer,
      head: head === "mean" ? -1 : head,
      direction,
      first,
      residual,
      head_fusion: fusion,
      scale: app.taste.scale,
      spotlight: app.taste.colours === SPOTLIGHT,
      ...(explained ? { explainers: explained, target: target ?? -1 } : {}),
      ...(OF_BOTH.includes(kind) ? { other: app.second.app.source.asked } : {}),
      ...(target === LIKE ? { other: source.explanations.other.asked } : {}),
    });
    return new Blob([ofBase64(reply.data)]);
  }

  async function run(text, save) {
    say(t("saveBusy", { what: text }));
    try {
      await save();
      say(t("saveDone", { what: text }));
    } catch (error) {
      say(t("saveFailed", { reason: reasonOf(error, app.language) }));
    }
  }

  function say(text) {
    setText(status, text);
    show(status, text !== "");
  }
}

/**
 * The lines below a PNG: what it shows, in which colours, and where it comes from.
 * @param {import("../main.js").App} app
 * @param {{view: import("../types.js").View, about: string}} now
 * @returns {string[]}
 */
export function captionOf(app, { view, about }) {
  const { t, taste } = app;
  const { manifest } = app.source;
  const { values, kind, colours } = view.shown;
  const scale = t(taste.scale === "map" ? "scaleMap" : "scaleHeads");
  const drawn =
    colours !== SPOTLIGHT
      ? t("captionColours", { colours })
      : t(showsPhotograph(app, view.shown) ? "captionSpotlight" : "captionSpotlightModel");
  return [
    [photoName(app), tokenTitle(view.token, app), about].filter(Boolean).join(" · "),
    ...toldOf(app),
    // Where there is no choice of scales the legend shows the one.
    ...(values
      ? [overlayNamed(kind).controls.includes("scale") ? t("captionScale", { drawn, scale }) : drawn]
      : []),
    t("captionSource", {
      model: sized(manifest.model.name, app),
      source: translated(manifest.model.source, app),
    }),
  ];
}

/** The interventions in this analysis and in the one beside it, in words. @returns {string[]} */
function toldOf(app) {
  const [own, other] = [app, app.facing?.()].map((side) => side && changesOf(side));
  return [
    ...(own ? [app.t("changed", { changes: own })] : []),
    ...(other ? [app.t("captionBeside", { changes: other })] : []),
  ];
}
