/** The stage: the picture as the model saw it, its patches, and the overlay. */

import { DIMMEST, SPOTLIGHT, colourIndex, cssColour, tableOver } from "../maths/colour.js";
import { el, setText, show } from "../parts/dom.js";
import { createBrush } from "./brush.js";
import { createGuesses } from "./guesses.js";
import { createModes } from "./modes.js";
import { createLegend } from "../parts/legend.js";
import { digits, percent } from "../maths/numbers.js";
import { LEAST_TIMES } from "../maths/scales.js";
import { OPERATED, touches } from "../state/experiment.js";
import { overlayNamed } from "../state/overlays.js";
import { createPicture, placeBox, readingOf, showsPhotograph } from "./picture.js";
import { explore } from "../parts/pointing.js";
import { createWaiting, layerText, positionsText, tokensText } from "../parts/waiting.js";
import { sayingOf } from "../text/overlay.js";
import { prefixLabel, tokenTitle } from "../text/words.js";
import { createWelcome } from "./welcome.js";

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, focus: HTMLElement, render: (view: import("../types.js").View) => void,
 *   sketch: () => void,
 *   reading: () => string, arrange: (size: string) => void}}
 *   reading: the token that is pointed at, with its value; arrange: for a size, "wide" or "narrow"
 */
export function createStage(app) {
  const { t } = app;
  const { grid, manifest } = app.source;
  const partner = el("div", { class: "vv-box vv-partner-box" });
  const waiting = createWaiting(app, "vv-waiting", "vv-again");
  const guesses = createGuesses(app);
  const brush = createBrush(app);
  const withoutHover = matchMedia("(hover: none)").matches; // a finger cannot point without touching
  const modes = createModes(app);
  const picture = createPicture(app, partner, guesses.root, brush.root);
  const board = picture.root;
  const welcome = createWelcome(app, withoutHover);
  board.append(...welcome.nodes, waiting.root);
  const tiles = manifest.model.prefix_tokens.map((name, token) => createTile(app, name, token));
  const column = el("div", { class: "vv-prefix" }, ...tiles.map((tile) => tile.root));
  const frame = el(
    "div",
    {
      class: "vv-frame",
      tabindex: "0",
      role: "application",
      "aria-label": t("stageLabel"),
      "aria-roledescription": t("stageRole"),
      "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight Home Escape",
    },
    column,
    board,
    modes.root,
  );
  column.hidden = tiles.length === 0;
  column.classList.toggle("vv-many", tiles.length > 3);

  const legend = createLegend(t);
  legend.root.dataset.control = "legend";
  const saying = el("p", { class: "vv-saying" });
  const under = el("p", { class: "vv-under" });
  const root = el(
    "section",
    { class: "vv-stage", "aria-label": t("stageTitle") },
    frame,
    saying,
    legend.root,
    under,
  );

  const tokenOfEvent = (event) => {
    const tile = tiles.findIndex(({ root: node }) => node.contains(event.target));
    if (tile >= 0 && event.type !== "pointermove") return tile;
    for (let at = 0; at < tiles.length; at++) {
      const box = tiles[at].root.getBoundingClientRect();
      if (
        event.clientX >= box.left &&
        event.clientX < box.right &&
        event.clientY >= box.top &&
        event.clientY < box.bottom
      )
        return at;
    }
    return picture.tokenOf(event);
  };
  explore(frame, tokenOfEvent, app);

  // Beside the modes the sentence takes no height from the picture; on a phone nothing more is to stick to
  // the top with it.
  const arrange = (size) => (size === "wide" ? modes.root.append(saying) : frame.after(saying));
  return {
    root,
    focus: frame,
    render,
    sketch: () => [modes, brush].forEach((part) => part.render()),
    reading: () => under.textContent,
    arrange,
  };

  /** Draws everything on the stage, synchronously in the handler of a pointer event. */
  function render(view) {
    const { shown, token, pointer } = view;
    const { taste, selection } = app;
    const { lit } = app.pointer;
    const other = app.panel().pairs ? app.pointer.shownPartner() : -1;
    const table = shown.values && tableOver(shown.colours);
    picture.render(view, app.bench.marks(), changedSource());
    root.classList.toggle("vv-bare", app.bench.marks());
    const litPatches = lit !== null && lit !== "picture" && lit.end > grid.prefix;
    show(picture.lines, taste.grid || litPatches);
    picture.lines.classList.toggle("vv-lit", litPatches);
    frame.classList.toggle("vv-lighting", lit !== null);
    board.classList.toggle("vv-lit", lit === "picture" || litPatches);
    placeBox(partner, other, grid);
    for (const part of [welcome, guesses, brush, modes]) part.render(view);
    tiles.forEach((tile, at) =>
      tile.render({
        value: shown.values ? shown.values[at] : NaN,
        shown,
        table,
        selected: at === token,
        pinned: selection.pinned,
        pointed: at === pointer,
        partner: at === other,
        lit: lit !== null && lit !== "picture" && at >= lit.first && at < lit.end,
      }),
    );
    waiting.render(
      messageOf(shown),
      (shown.missing === "layer" && app.source.failure !== null) ||
        (shown.missing === "tokens" && app.source.features.error !== null) ||
        (shown.missing === "positions" && app.source.positions.error !== null),
    );
    setText(saying, shown.values || shown.painted ? sayingOf(app, shown, token) : "");
    show(saying, saying.textContent !== "");
    renderLegend(shown, pointer);
    setText(under, underPointer(shown, pointer));
  }

  /**
   * The source whose picture replaces the intact one while an experiment changes pixels; in a lesson, the
   * picture of its question.
   */
  function changedSource() {
    const { bench, second } = app;
    const after =
      (app.course.lesson() !== null || (bench.marks() && bench.shows === "after")) &&
      second?.key === OPERATED &&
      touches(bench.list(), "pixels");
    return after ? (second.app?.source ?? null) : null;
  }

  function messageOf(shown) {
    if (shown.missing === null) return "";
    if (shown.missing === "layer") return layerText(app);
    if (shown.missing === "building") {
      return t("matricesBuilding", { share: percent(app.source.relevance.share) });
    }
    if (shown.missing === "tokens") return tokensText(app);
    if (shown.missing === "positions") return positionsText(app);
    return t("missing_" + shown.missing);
  }

  function renderLegend(shown, pointer) {
    show(legend.root, shown.values !== null);
    if (!shown.values) return;
    const value = pointer === null ? null : shown.values[pointer];
    const { controls, decimals = 0 } = { ...overlayNamed(shown.kind), ...shown };
    const note =
      controls.includes("scale") && app.taste.scale === "heads"
        ? t("scaleShared", { least: LEAST_TIMES })
        : shown.uniform === null
          ? t(shown.told ? "insideScale_" + shown.told : "scale_" + shown.kind)
          : t(app.facing() ? "scaleBoth" : "scaleOwn", { least: LEAST_TIMES });
    const ends = decimals === null ? { ends: digits } : { decimals };
    legend.render({
      ...shown,
      table: tableOver(shown.colours),
      note: [note, ...lightOf(shown)].join(" "),
      marked: value,
      ...ends,
    });
  }

  /** Explains how the spotlight changes the picture. @returns {string[]} */
  function lightOf(shown) {
    if (shown.colours !== SPOTLIGHT) return [];
    const { height, width } = manifest.model.image;
    return [
      t("spotlightScale", { dimmest: percent(DIMMEST).replace(".0", "") }),
      ...(showsPhotograph(app, shown) ? [t("sightFine", { height, width })] : []),
    ];
  }

  function underPointer(shown, pointer) {
    if (pointer === null && app.course.lesson())
      return app.course.takes() ? t("lessonTap") : app.course.draws() ? t("lessonMarks") : "";
    if (pointer === null) {
      const [free, pinned] = withoutHover ? ["hintTouch", "hintPinnedTouch"] : ["hint", "hintPinned"];
      return app.bench.paints() ? "" : t(app.selection.pinned ? pinned : free); // a stroke does neither
    }
    return readingOf(app, shown, pointer);
  }
}

/**
 * A prefix token beside the picture, with its value.
 * @param {import("../main.js").App} app
 * @param {string} called  in the manifest
 * @param {number} token
 */
function createTile(app, called, token) {
  const value = el("span", { class: "vv-tile-value" });
  const swatch = el("span", { class: "vv-swatch" });
  const name = el("span", { class: "vv-tile-name", text: prefixLabel(called) });
  const node = el("div", { class: "vv-tile", title: tokenTitle(token, app) }, swatch, name, value);
  return {
    root: node,
    render({
      value: number,
      shown,
      table,
      selected: isSelected,
      pinned,
      pointed: isPointed,
      partner: isPartner,
      lit: isLit,
    }) {
      const known = Number.isFinite(number);
      setText(value, known ? digits(number) : "");
      swatch.style.background = known ? cssColour(table[colourIndex(number, shown.scale)]) : "";
      node.classList.toggle("vv-above", known && number > shown.scale.max);
      node.classList.toggle("vv-selected", isSelected);
      node.classList.toggle("vv-pinned", isSelected && pinned);
      node.classList.toggle("vv-pointed", isPointed && !isSelected);
      node.classList.toggle("vv-partnered", isPartner && !isSelected);
      node.classList.toggle("vv-lit", isLit);
    },
  };
}
