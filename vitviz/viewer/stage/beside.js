/** Beside: the overlays of both analyses, and their difference. */

import { overlap } from "../maths/attention.js";
import { colourTable } from "../maths/colour.js";
import { differenceOf, evenScale, mostDifferent, sameGrid } from "../maths/difference.js";
import { el, freshId, setText, show } from "../parts/dom.js";
import { createLegend } from "../parts/legend.js";
import { digits, percent } from "../maths/numbers.js";
import { createPatchMap } from "../parts/patchmap.js";
import { createPicture, readingOf } from "./picture.js";
import { createPhotoChoice } from "../parts/photochoice.js";
import { explore } from "../parts/pointing.js";
import { button } from "../parts/widgets.js";
import { OPERATED } from "../state/experiment.js";
import { answerOf } from "../text/answer.js";
import { reasonOf } from "../text/refusal.js";
import { besideName, sideNames, sourceName, tokenName } from "../text/words.js";

/** The groups of the menu. */
const GROUPS = [
  ["untrained", "trained", "other", "kept", "operated"],
  ["photo"],
  ["example"],
  ["size"],
  ["model"],
];

/**
 * The control that puts a second analysis beside the first.
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, render: () => void}}
 */
export function createBesideChoice(app) {
  const { t } = app;
  const id = freshId("beside");
  const select = el("select", {
    id,
    class: "vv-select",
    onchange: () => app.select({ beside: select.value }),
  });
  const keep = button({
    text: t("besideKeep"),
    title: t("besideKeepTitle"),
    onClick: () => app.comparisons.keep(),
  });
  const photo = createPhotoChoice(app, (key) => app.select({ beside: key }));
  const root = el(
    "div",
    { class: "vv-beside-choice" },
    el("label", { for: id, text: t("beside") }),
    el("div", { class: "vv-pair vv-on-a-line" }, select, photo?.root, app.source.manifest.link ? keep : null),
    photo?.note,
  );
  photo?.takesDrops(root);
  let written = "";
  return {
    root,
    render() {
      // An experiment is made in its panel; the menu lists it once it exists.
      const all = app.comparisons
        .besides()
        .filter(({ key }) => key !== OPERATED || app.selection.experiment !== "");
      const keys = all.map(({ key }) => key).join("/");
      show(root, all.length > 0);
      if (written !== keys) {
        written = keys;
        const option = (beside) => el("option", { value: beside.key, text: besideName(beside, app) });
        select.replaceChildren(
          el("option", { value: "", text: t("besideNothing") }),
          ...GROUPS.flatMap((kinds, at) => {
            const options = all.filter(({ kind }) => kinds.includes(kind)).map(option);
            if (at === 0 || options.length === 0) return options;
            return [el("optgroup", { label: t("besides_" + kinds[0]) }, ...options)];
          }),
        );
      }
      if (select.value !== app.selection.beside) select.value = app.selection.beside;
    },
  };
}

/**
 * Shown while a second analysis is open or loading, or has failed.
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement,
 *   render: (view: import("../types.js").View, other: import("../types.js").View|null) => void}}
 */
export function createBeside(app) {
  const { t } = app;
  const id = freshId("beside");
  const title = el("h3", { id });
  const message = el("span");
  const again = button({ text: t("tryAgain"), onClick: () => app.second.retry() });
  const status = el("div", { class: "vv-note", role: "status" }, message, again);
  const body = el("div");
  const root = el(
    "section",
    { class: "vv-beside", "aria-labelledby": id },
    el(
      "div",
      { class: "vv-beside-head" },
      title,
      button({ text: "✕", title: t("besideClose"), onClick: () => app.select({ beside: "" }) }),
    ),
    status,
    body,
  );
  let drawn = null; // {app, render} of the second analysis
  return {
    root,
    render(view, other) {
      const { second } = app;
      show(root, second.key !== "");
      if (second.key === "") {
        drawn = null;
        body.replaceChildren();
        return;
      }
      const choice = app.comparisons.besides().find(({ key }) => key === second.key);
      setText(
        title,
        t("besideTitle", {
          name: second.app ? sourceName(second.app) : choice ? besideName(choice, app) : "",
        }),
      );
      setText(
        message,
        second.error
          ? t("besideFailed", { reason: reasonOf(second.error, app.language) })
          : second.app
            ? ""
            : t("besideLoading"),
      );
      show(status, !second.app);
      show(again, second.error !== null);
      show(body, other !== null);
      if (!other) return;
      if (drawn?.app !== second.app) {
        drawn = createMaps(app, second.app);
        body.replaceChildren(drawn.root);
      }
      drawn.render(view, other);
    },
  };
}

function createMaps(app, other) {
  const { t } = app;
  const { grid } = app.source;
  const equal = sameGrid(grid, other.source.grid);
  const names = sideNames(app, other);
  const sides = [app, other].map((side, at) => createSide(side, names[at]));
  const map = createPatchMap(grid);
  explore(map.frame, map.tokenOf, app);
  const legend = createLegend(t);
  const reading = el("p", { class: "vv-under" });
  const difference = el(
    "figure",
    { class: "vv-figure vv-difference" },
    el("figcaption", {}, el("b", { text: t("besideDifference") })),
    map.frame,
    reading,
    legend.root,
  );
  const common = el("p", { class: "vv-compare-common" });
  const note = el("p", { class: "vv-note" });
  const root = el(
    "div",
    { class: "vv-beside-body" },
    el("div", { class: "vv-figures vv-thirds" }, ...sides.map((side) => side.root), difference),
    common,
    note,
  );
  return {
    app: other,
    root,
    render(view, theirs) {
      const both = [view, theirs];
      sides.forEach((side, at) => side.render(both[at]));
      const [left, two] = both.map(({ shown }) => shown.values);
      const known = Boolean(left && two);
      show(difference, equal && known);
      const flows = known && view.shown.uniform !== null;
      setText(note, !known ? "" : equal ? t("besideScale") : t("besideGrids", sizes()));
      show(common, equal && known);
      if (!equal || !known) return;
      const values = differenceOf(left, two);
      const scale = evenScale(values, grid);
      const read = view.pointer ?? view.token;
      map.draw(values, grid.prefix, scale, colourTable("diverging"));
      map.mark(view.token);
      legend.render({
        scale,
        colours: "diverging",
        uniform: null,
        ends: plus,
        note: t("besideLegend"),
        marked: values[read],
      });
      setText(
        reading,
        Number.isFinite(values[read])
          ? t("underPointer", { name: tokenName(read, app), value: plus(values[read]) })
          : tokenName(read, app),
      );
      const most = mostDifferent(values);
      setText(
        common,
        [
          flows ? t("compareCommon", { share: percent(overlap(left, two)) }) : null,
          t("besideMost", { name: tokenName(most, app), value: plus(values[most]) }),
        ]
          .filter(Boolean)
          .join(" · "),
      );
    },
  };

  function sizes() {
    const [a, b] = [grid, other.source.grid];
    return { rows: a.rows, cols: a.cols, otherRows: b.rows, otherCols: b.cols };
  }
}

/** One side: name and answer of the analysis, its picture with the map, the value of the shown token. */
function createSide(app, name) {
  const picture = createPicture(app);
  explore(picture.root, picture.tokenOf, app);
  const reading = el("p", { class: "vv-under" });
  const answer = el("span");
  const root = el(
    "figure",
    { class: "vv-figure" },
    el("figcaption", {}, el("b", { text: name }), answer),
    picture.root,
    reading,
  );
  return {
    root,
    render(view) {
      setText(answer, answerOf(app)?.line ?? "");
      picture.render(view);
      setText(reading, readingOf(app, view.shown, view.pointer ?? view.token));
    },
  };
}

/** A number with its sign, also if it is positive. */
function plus(value) {
  return (value > 0 ? "+" : "") + digits(value);
}
