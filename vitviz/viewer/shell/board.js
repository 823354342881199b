/** The board: title line, stage with its controls, and the panels behind their tabs. */

import { el, setText, show } from "../parts/dom.js";
import { createBeside } from "../stage/beside.js";
import { createLine } from "./line.js";
import { createGlossary } from "../parts/glossary.js";
import { createHelp } from "../parts/help.js";
import { createLessonBar } from "../teaching/lessonbar.js";
import { OPERATED } from "../state/experiment.js";
import { overlayOf } from "../state/overlays.js";
import { createProjecting } from "../teaching/projecting.js";
import { createReadout } from "../stage/readout.js";
import { createRulers } from "../stage/rulers.js";
import { createSaving } from "../saving/saving.js";
import { createStage } from "../stage/stage.js";
import { createControls } from "../stage/controls.js";
import { createTabs } from "./tabs.js";
import { createTitleBar } from "./titlebar.js";

/**
 * @param {import("../main.js").App} app
 * @returns
 *   {{root: HTMLElement, title: () => string, stage: ReturnType<typeof createStage>, help: HTMLDialogElement,
 *   projecting: ReturnType<typeof createProjecting>,
 *   render: () => import("../types.js").View, answer: () => void,
 *   sentence: () => string, arrange: (size: string) => void, destroy: () => void}}
 */
export function createBoard(app) {
  const { t } = app;
  const stage = createStage(app);
  const readout = createReadout(app);
  const steering = createControls(app);
  const help = createHelp(t);
  const line = createLine(app);
  const tabs = createTabs(app);
  const saving = createSaving(app, () => ({
    view,
    stage: stage.root,
    about: readout.about(view),
    panel: tabs.open(),
  }));
  const beside = createBeside(app);
  const lesson = createLessonBar(app);
  const rulers = createRulers(app);
  const picture = /** @type {HTMLElement} */ (stage.root.querySelector(".vv-picture"));
  const note = el("p", { class: "vv-stage-note" });
  picture.append(rulers.root, note);
  const projecting = createProjecting(app, picture);
  const bar = createTitleBar(
    app,
    saving.button,
    () => help.showModal(),
    projecting.root,
    () => tabs.unfold(true),
  );
  const glossary = createGlossary(app, () => [
    root.querySelector(".vv-left"),
    root.querySelector(".vv-right"),
  ]);
  // On a phone: what is chosen less often than a panel.
  const options = el(
    "details",
    { class: "vv-picture-options" },
    el("summary", { text: t("pictureOptions") }),
  );
  options.open = app.page.optionsOpen;
  options.addEventListener("toggle", () => opened(options.open));
  const root = el(
    "div",
    { class: "vv-board" },
    bar.root,
    line.root,
    el(
      "div",
      { class: "vv-columns" },
      el("div", { class: "vv-left" }, stage.root, steering.root),
      el("div", { class: "vv-right" }, lesson.root, bar.notes, readout.root, beside.root, ...tabs.pages),
    ),
    help,
    saving.dialog,
    glossary.dialog,
  );
  for (const [name, nodes] of Object.entries({
    title: [bar.titles],
    readout: [readout.root],
    beside: [beside.root],
    panel: tabs.pages,
    tabs: [tabs.list],
  })) {
    for (const node of nodes) node.dataset.control = name;
  }
  const controls = [
    tabs.list,
    .../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-control]")),
  ];
  const { height, width } = app.source.manifest.model.image;
  root.style.setProperty("--vv-ratio", String(width / height));
  const measured = measure(root, { "--vv-head": bar.root, "--vv-frame": stage.focus });
  let view = null;
  let [place, arranged] = ["", ""];
  return {
    root,
    stage,
    help,
    projecting,
    answer: bar.answer,
    /** Draws everything for the present selection and pointer; synchronous. */
    render() {
      const plain = Boolean(app.panel().plain);
      view = viewOf(app);
      root.classList.toggle("vv-tools-first", Boolean(app.panel().paints));
      root.classList.toggle("vv-plain", plain);
      const other = app.facing();
      const second = other && viewOf(other);
      settle();
      rulers.render();
      projecting.render();
      stage.render(view);
      const { whole = false, note: noteOf } = app.panel();
      setText(note, noteOf?.(app) ?? "");
      show(note, note.textContent !== "");
      readout.render(view);
      show(readout.root, !whole);
      steering.render(view);
      bar.render();
      line.render(view);
      const changed = app.selection.beside === OPERATED;
      root.classList.toggle("vv-changed", changed && !plain);
      beside.render(view, second);
      if (changed && plain && app.bench.erases()) show(beside.root, false); // the picture shows it
      tabs.render(view, second);
      lesson.render();
      showOnly(app.course.shows());
      if (!plain) glossary.rest();
      return view;
    },
    sentence: () => readout.sentence(view),
    /** The title: the answer, the picture and the model. */
    title: bar.title,
    /** Arranges the board for a size: "wide" or "narrow". */
    arrange(size) {
      place = size;
      settle();
    },
    destroy() {
      measured.disconnect();
      bar.destroy();
      line.destroy();
      lesson.destroy();
      glossary.destroy();
      tabs.destroy();
    },
  };

  function opened(open) {
    app.page.optionsOpen = open;
    root.classList.toggle("vv-opened", open);
  }

  /** Leaves out the controls that a step of a lesson does not name; null: shows all. */
  function showOnly(names) {
    // Open the fold in a lesson: it must not hide the controls of a step.
    if (root.classList.contains("vv-in-lesson") !== (names !== null)) options.open = names !== null;
    root.classList.toggle("vv-in-lesson", names !== null);
    for (const node of controls) {
      node.classList.toggle("vv-left-out", names !== null && !names.includes(node.dataset.control));
    }
    leaveOutSteering();
  }

  /** Leaves out the section of the controls in a step that shows none of those in it. */
  function leaveOutSteering() {
    const empty = controls
      .filter((node) => steering.root.contains(node))
      .every((node) => node.classList.contains("vv-left-out"));
    steering.root.classList.toggle("vv-left-out", empty && root.classList.contains("vv-in-lesson"));
  }

  /**
   * Arranges line, tabs and heads. With two columns, line and tabs are above both, and the heads are in the
   * right one, because the picture is nearly as high as the window; on a wall the tabs are in the right
   * column, too, above everything that changes with the panel. With one column, tabs, line and folded options
   * follow the picture in this order.
   */
  function settle() {
    const wall = place === "wide" && app.taste.projector;
    const plain = Boolean(app.panel().plain);
    if (arranged === place + wall + plain) return;
    arranged = place + wall + plain;
    if (place === "wide") readout.root[wall ? "after" : "before"](steering.where);
    else steering.root.prepend(steering.where);
    if (place === "wide") bar.root.after(line.root);
    (wall ? bar.notes : place === "wide" ? line.root : stage.root)[wall ? "before" : "after"](tabs.list);
    if (place !== "wide") tabs.list.after(line.root);
    bar.arrange(place, options, plain);
    tabs.arrange(place);
    stage.arrange(place);
    if (place === "wide") stage.root.after(steering.root);
    else {
      options.append(steering.root);
      line.root.after(options);
    }
    show(options, place !== "wide");
    leaveOutSteering();
  }
}

/**
 * Keeps the heights of some nodes as values of the style of another.
 * @param {Record<string, HTMLElement>} nodes
 */
function measure(root, nodes) {
  const observer = new ResizeObserver(() => {
    for (const [name, node] of Object.entries(nodes)) root.style.setProperty(name, node.offsetHeight + "px");
  });
  for (const node of Object.values(nodes)) observer.observe(node);
  return observer;
}

/** The view of a source with the selection. @returns {import("../types.js").View} */
function viewOf(app) {
  const token = app.pointer.shownToken();
  return { source: app.source, token, pointer: app.pointer.pointed, shown: overlayOf(app, token) };
}
