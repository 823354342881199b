/** Panel First look: what the picture shows in one sentence, and up to five experiments, one press each. */

import { strongest } from "../maths/attention.js";
import { SPOTLIGHT } from "../maths/colour.js";
import { patchCanvas, pixelCanvas } from "../parts/canvas.js";
import { el, setText, show } from "../parts/dom.js";
import { percent } from "../maths/numbers.js";
import { cellsOf } from "../state/bench.js";
import { OPERATED } from "../state/experiment.js";
import { attention } from "./attention.js";
import { createKnown } from "./model.js";
import { answerOf, isAnswer, nameOf } from "../text/answer.js";
import { attentionFinding } from "../text/findings.js";
import { isOnHost } from "../text/refusal.js";

/** Squares that are named with their share. */
const SQUARES = 4;
/** Squares that one press erases: those that count most for the answer. */
const ERASED = 6;
const COUNTED = "attention_gradient";

/** @type {import("../state/panels.js").PanelDescription} */
export const why = {
  id: "why",
  plain: true,
  alone: true,
  whole: true,
  overlay: "attention",
  needs: "layer",
  lights: ({ selection: { layer } }) => [layer],
  create,
  code: (selection, source) => attention.code(selection, source, { gallery: "layer" }),
};

/** @param {import("../main.js").App} app */
function create(app) {
  const { t } = app;
  const found = el("p", { class: "vv-found" });
  const { height, width } = app.source.manifest.model.image;
  const pixels = pixelCanvas(height, width, "");
  const squares = Array.from({ length: SQUARES }, () => createSquare(app.source.grid));
  const list = el(
    "ul",
    { class: "vv-squares", "aria-label": t("whySquares") },
    ...squares.map(({ root }) => root),
  );
  const light = el("p", { class: "vv-note", text: t("whyLight") });
  const dares = createDares(app);
  const root = el(
    "div",
    { class: "vv-why" },
    found,
    list,
    light,
    dares.root,
    isOwn(app.source) ? createKnown(app) : null,
  );
  return { root, render };

  function render({ token }) {
    const { layer, head, direction } = app.selection;
    const shown = shownApp(app);
    show(light, app.taste.colours === SPOTLIGHT);
    const { maps, grid, picture, photograph } = shown.source;
    const values = maps.head(layer, token, direction, head);
    dares.render();
    show(list, values !== null);
    if (!values) {
      setText(found, ""); // it was about another layer or token
      return;
    }
    setText(found, attentionFinding(shown, values, token, t("whyFirst")));
    const best = strongest(values.subarray(grid.prefix), SQUARES);
    pixels.draw(picture.get()?.rgba);
    const seen = (shown === app && photograph.exists && photograph.get()) || pixels.canvas;
    squares.forEach((square, at) =>
      square.render(seen, grid.prefix + best[at], values[grid.prefix + best[at]]),
    );
  }
}

/** The analysis that the picture shows: the intact one, or while one erases the changed one. */
function shownApp(app) {
  const { bench, second } = app;
  return bench.marks() && bench.shows === "after" && second.key === OPERATED && second.app ? second.app : app;
}

/** A square of the picture, cut out, with its share. */
function createSquare(grid) {
  const cut = patchCanvas(grid);
  const share = el("b");
  const root = el("li", {}, cut.canvas, share);
  return {
    root,
    render(picture, token, value) {
      show(root, Number.isFinite(value));
      if (!Number.isFinite(value)) return;
      cut.draw(picture, token);
      setText(share, percent(value));
    },
  };
}

/** Whether the picture is a photo of the visitor's own. @param {import("../data/source.js").Source} source */
const isOwn = ({ manifest: { upload, template } }) => Boolean(upload ?? template);

/**
 * Whether a trained model of photos does not tell an answer plainly.
 * @param {import("../data/source.js").Source} source
 */
const isUnsure = ({ manifest: { model, pass } }) =>
  model.trained &&
  model.image.channels === 3 &&
  ["none", "not_sure", "maybe"].includes(pass.answer?.level ?? "");

/** Experiments, each done by one press, and undone by another. */
function createDares(app) {
  const { t, bench } = app;
  const { grid, manifest } = app.source;
  const name = isAnswer(app.source) ? nameOf(manifest.pass.answer, app) : "";
  const sides = cellsOf(grid);
  const erase = createDare(t("dareErase"), name ? t("dareEraseWhy", { name }) : t("dareEraseAny"), () =>
    bench.use({ erasing: true, on: true, tool: "remove" }),
  );
  const shuffle = createDare(t("dareShuffle"), t("dareShuffleWhy"), () => {
    bench.use({ erasing: true, on: true });
    bench.change([{ kind: "shuffle", cells: sides[Math.floor(sides.length / 2)], seed: 0 }]);
  });
  const before = createDare(
    t("dareBefore"),
    t("dareBeforeWhy"),
    () => app.select({ beside: "untrained" }),
    ".vv-beside",
  );
  // what it does not know it can be taught
  const teach = createDare(t("dareTeach"), t("dareTeachWhy"), () => app.page.play?.("own"));
  const offered = app.page.wide; // template: the photo was not sent
  const size = offered ? t(manifest.template ? "dareWideWhy" : "dareWideSize", offered) : "";
  const wide = createDare(t("dareWide"), size, () => offered?.open());
  const asked = t(name ? "dareBrightWhy" : "dareBrightAny", { name, count: ERASED });
  const bright = createDare(t("dareBright"), asked, async (button) => {
    const text = /** @type {HTMLElement} */ (button.lastChild);
    setText(text, asked);
    button.setAttribute("aria-busy", "true");
    const done = await eraseBright(app);
    button.removeAttribute("aria-busy");
    if (!done) setText(text, t("missing_explainFailed"));
  });
  return {
    root: el("div", { class: "vv-dares" }, teach, bright, erase, shuffle, before, wide),
    render() {
      const asks = isOwn(app.source) && fileOfBright(app) !== null;
      show(teach, app.page.play !== null && isUnsure(app.source));
      show(wide, asksWide(app));
      wide.setAttribute("aria-busy", String(app.page.widening));
      show(bright, asks && app.backend.changes);
      show(erase, app.backend.changes && answerOf(app) !== null);
      show(shuffle, app.backend.changes && sides.length > 0);
      show(before, !asks && app.shape().besides.includes("untrained"));
    },
  };
}

/**
 * Whether to offer the model of a thousand classes: another model of colour pictures is shown. A photo that a
 * model of this page has been given does not go with the change to a model of the host.
 */
const asksWide = ({ page: { wide }, source: { manifest } }) =>
  wide !== null &&
  manifest.model.key.name !== wide.name &&
  manifest.model.image.channels === 3 &&
  isOnHost(manifest.model);

/** How much each square counts for the most probable class; null where that cannot be said. */
function fileOfBright({ source: { explanations, grid, manifest } }) {
  const [best] = manifest.pass.predictions ?? [];
  if (!best || !explanations.named(COUNTED) || manifest.model.prefix_tokens[0] !== "cls_token") return null;
  if (grid.rows * grid.cols <= ERASED) return null; // one has to stay
  const file = explanations.of({ key: COUNTED, token: 0, target: best.index });
  return file.exists ? file : null;
}

/**
 * Takes out the squares that count most, once their values have loaded, unless the visitor did something else
 * meanwhile. Resolves to whether the values have loaded.
 * @param {import("../main.js").App} app
 */
async function eraseBright(app) {
  const { bench, source, selection } = app;
  const file = fileOfBright(app);
  if (file.error) file.retry();
  await file.fetch();
  const found = file.here;
  const isOvertaken = ["experiment", "panel", "beside"].some(
    (name) => app.selection[name] !== selection[name],
  );
  if (!found || app.source !== source || isOvertaken) return found !== null;
  const patches = strongest(found.values.subarray(source.grid.prefix), ERASED).sort((a, b) => a - b);
  bench.use({ erasing: true, on: true, tool: "remove" });
  bench.change([{ kind: "remove", patches }]);
  return true;
}

/**
 * @param {string} title
 * @param {string} text
 * @param {(button: HTMLElement) => void} act
 * @param {string} [where]  selector of the place where it is seen: a phone scrolls there
 */
function createDare(title, text, act, where = ".vv-title-bar") {
  const onclick = ({ currentTarget }) => {
    act(currentTarget);
    const place = currentTarget.closest(".vv-board").querySelector(where);
    // the board measures what it keeps in sight after the next frame
    const scroll = () => place.scrollIntoView({ block: "nearest" });
    requestAnimationFrame(() => requestAnimationFrame(scroll));
  };
  return el(
    "button",
    { type: "button", class: "vv-dare", onclick },
    el("b", { text: title }),
    el("span", { text }),
  );
}
