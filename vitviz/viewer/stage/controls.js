/** The controls under the stage, for the selection and for the taste. */

import { COLOUR_MAPS, SPOTLIGHT } from "../maths/colour.js";
import { createBesideChoice } from "./beside.js";
import { el, show } from "../parts/dom.js";
import { hasPhotograph } from "./picture.js";
import { LEAST_TIMES } from "../maths/scales.js";
import { OVERLAYS, overlayNamed } from "../state/overlays.js";
import { SIGHTS } from "../state/taste.js";
import { choice, slider, toggle } from "../parts/widgets.js";

/**
 * @param {import("../main.js").App} app
 * @returns {{root: HTMLElement, where: HTMLElement, render: (view: import("../types.js").View) => void}}
 */
export function createControls(app) {
  const { t } = app;
  const { manifest } = app.source;
  const head = choice({
    label: t("head"),
    wrap: true,
    options: [
      { value: "mean", text: t("mean") },
      ...Array.from({ length: manifest.model.num_heads }, (_, at) => ({
        value: at,
        text: String(at),
        title: t("headNumber", { head: at }),
      })),
    ],
    onChoose: (value) => app.select({ head: value }),
  });
  const direction = choice({
    label: t("direction"),
    options: [
      { value: "from", text: t("from"), title: t("fromTitle") },
      { value: "to", text: t("to"), title: t("toTitle") },
    ],
    onChoose: (value) => app.select({ direction: value }),
  });
  const overlay = choice({
    label: t("overlay"),
    options: OVERLAYS.map(({ id }) => ({ value: id, text: t("overlay_" + id) })),
    onChoose(value) {
      app.select({ overlay: value });
      look(app);
    },
  });
  const beside = createBesideChoice(app);
  const drawing = createDrawing(app);
  const looks = createLooks(app);
  // By these names a lesson chooses the controls that it shows.
  for (const [name, part] of Object.entries({ head, direction, overlay, beside, looks }))
    part.root.dataset.control = name;
  const where = el("div", { class: "vv-where" }, head.root);
  const root = el(
    "section",
    { class: "vv-steering", "aria-label": t("controls") },
    where,
    el("div", { class: "vv-pair" }, direction.root, overlay.root),
    drawing.root,
    beside.root,
    looks.root,
  );
  return {
    root,
    where,
    render({ shown }) {
      const { selection } = app;
      const drawn = overlayNamed(selection.overlay);
      // Values with a sign have colours of their own.
      const onPicture =
        shown.colours === "diverging"
          ? { ...drawn, controls: drawn.controls.filter((control) => control !== "colours") }
          : drawn;
      const here = [onPicture, overlayNamed(app.panel().overlay ?? "none")].filter(
        ({ possible }) => !possible || possible(app.source),
      );
      const uses = (control) =>
        [app.panel(), ...here].some(({ controls = [] }) => controls.includes(control));
      show(head.root, uses("head"));
      head.set(selection.head);
      direction.set(selection.direction, uses("direction"));
      overlay.set(selection.overlay);
      beside.render();
      drawing.render(uses, shown);
      looks.render(uses, shown);
    },
  };
}

/** Ends the erasing, which hides what lies over the picture: who chooses that wants to see it. */
function look({ bench }) {
  if (bench.marks()) bench.use({ erasing: false, on: false });
}

/** The choice of colours or of the spotlight, and what that falls on. */
function createDrawing(app) {
  const { t } = app;
  const colours = choice({
    label: t("colours"),
    options: [
      { value: SPOTLIGHT, text: t("spotlight"), title: t("spotlightTitle") },
      ...COLOUR_MAPS.map((value) => ({ value, text: value, title: t("coloursTitle") })),
    ],
    onChoose(value) {
      app.prefer({ colours: value });
      look(app);
    },
  });
  const sight = choice({
    label: t("sight"),
    options: SIGHTS.map((value) => ({ value, text: t("sight_" + value), title: t("sightTitle_" + value) })),
    onChoose: (value) => app.prefer({ sight: value }),
  });
  return {
    root: el("div", { class: "vv-pair" }, colours.root, sight.root),
    render(uses, shown) {
      colours.set(app.taste.colours, uses("colours"));
      show(sight.root, hasPhotograph(app, shown));
      sight.set(app.taste.sight);
    },
  };
}

/** The controls of the taste (scale, opacity, ...), folded until they are opened. */
function createLooks(app) {
  const { t } = app;
  const scale = choice({
    label: t("scale"),
    options: [
      { value: "map", text: t("scaleMap"), title: t("scaleMapTitle", { least: LEAST_TIMES }) },
      { value: "heads", text: t("scaleHeads"), title: t("scaleHeadsTitle") },
    ],
    onChoose: (value) => app.prefer({ scale: value }),
  });
  const opacity = slider({
    label: t("opacity"),
    min: 0,
    max: 100,
    step: 1,
    format: (value) => value + "%",
    onInput: (value) => app.prefer({ opacity: value / 100 }),
  });
  const grid = toggle({ label: t("gridLines"), onSwitch: (on) => app.prefer({ grid: on }) });
  const rulers = toggle({ label: t("rulers"), onSwitch: (on) => app.prefer({ rulers: on }) });
  const fromOne = toggle({ label: t("fromOne"), onSwitch: (on) => app.prefer({ fromOne: on }) });
  const smooth = toggle({ label: t("smooth"), onSwitch: (on) => app.prefer({ smooth: on }) });
  const root = el(
    "details",
    { class: "vv-looks" },
    el("summary", { text: t("looks") }),
    el(
      "div",
      { class: "vv-looks-body" },
      opacity.root,
      el("div", { class: "vv-toggles" }, grid.root, smooth.root, rulers.root, fromOne.root),
      scale.root,
    ),
  );
  root.open = app.page.looksOpen;
  root.addEventListener("toggle", () => {
    app.page.looksOpen = root.open;
  });
  return {
    root,
    render(uses, shown) {
      const { taste, selection } = app;
      scale.set(taste.scale, uses("scale"));
      opacity.set(
        Math.round(taste.opacity * 100),
        overlayNamed(selection.overlay).controls.includes("opacity") && shown.colours !== SPOTLIGHT,
      );
      grid.set(taste.grid);
      rulers.set(taste.rulers || taste.projector, !taste.projector);
      fromOne.set(taste.fromOne);
      smooth.set(taste.smooth, uses("opacity"));
    },
  };
}
