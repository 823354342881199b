/** The board: title line, stage with its controls, and the panels behind their tabs. */

import { el, freshId, setText, show } from "./parts/dom.js";
import { createBeside } from "./parts/beside.js";
import { createGlossary } from "./parts/glossary.js";
import { createHelp } from "./parts/help.js";
import { createLessonBar } from "./parts/lessonbar.js";
import { overlayOf } from "./state/overlays.js";
import { createPhotoNotes } from "./parts/photonotes.js";
import { createTabPanel } from "./tabpanel.js";
import { createProjecting } from "./parts/projecting.js";
import { createReadout } from "./parts/readout.js";
import { createRulers } from "./parts/rulers.js";
import { createSaving } from "./parts/saving.js";
import { createSharing } from "./parts/sharing.js";
import { createStage } from "./parts/stage.js";
import { visitPanel } from "./state/panels.js";
import { createSteering } from "./parts/steering.js";
import { allow, button } from "./parts/widgets.js";
import { grouped, percent } from "./maths/numbers.js";
import { answerOf, rivalsOf } from "./text/answer.js";
import { languageName, nextLanguage } from "./text/language.js";
import { sized, translated } from "./text/words.js";

/**
 * @param {import("./main.js").App} app
 * @returns {{root: HTMLElement, title: string, stage: ReturnType<typeof createStage>, help: HTMLDialogElement,
 *   projecting: ReturnType<typeof createProjecting>,
 *   render: () => import("./types.js").View,
 *   sentence: () => string, arrange: (size: string) => void, destroy: () => void}}
 */
export function createBoard(app) {
  const { t } = app;
  const stage = createStage(app);
  const readout = createReadout(app);
  const steering = createSteering(app);
  const help = createHelp(t);
  const tabs = createTabs(app);
  const saving = createSaving(app, () => (
    { view, stage: stage.root, about: readout.about(view), panel: tabs.open() }));
  const beside = createBeside(app);
  const lesson = createLessonBar(app);
  const rulers = createRulers(app);
  const picture = /** @type {HTMLElement} */ (stage.root.querySelector(".vv-picture"));
  const note = el("p", { class: "vv-stage-note" });
  picture.append(rulers.root, note);
  const projecting = createProjecting(app, picture);
  const bar = createTitleBar(app, saving.button, () => help.showModal(), projecting.root);
  const glossary = createGlossary(app, () => [root.querySelector(".vv-left"), root.querySelector(".vv-right")]);
  const root = el("div", { class: "vv-board" }, bar.root,
    el("div", { class: "vv-columns" },
      el("div", { class: "vv-left" }, stage.root, steering.root),
      el("div", { class: "vv-right" }, lesson.root, readout.root, beside.root, ...tabs.pages)),
    help, saving.dialog, glossary.dialog);
  for (const [name, nodes] of Object.entries({ title: [bar.titles], readout: [readout.root], beside: [beside.root], panel: tabs.pages, tabs: [tabs.list] })) {
    for (const node of nodes) node.dataset.control = name;
  }
  const controls = [tabs.list, .../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-control]"))];
  const { height, width } = app.source.manifest.model.image;
  root.style.setProperty("--vv-ratio", String(width / height));
  let view = null;
  let [place, arranged] = ["", ""];
  return {
    root, stage, help, projecting,
    /** Draws everything for the present selection and pointer; synchronous. */
    render() {
      view = viewOf(app);
      const other = app.facing();
      const second = other && viewOf(other);
      settle();
      rulers.render();
      projecting.render();
      stage.render(view);
      const { whole = false, note: key } = app.panel();
      show(note, Boolean(key));
      if (key) setText(note, t(key));
      readout.render(view);
      show(readout.root, !whole);
      steering.render(view);
      bar.render();
      beside.render(view, second);
      tabs.render(view, second);
      lesson.render();
      showOnly(app.course.shows());
      glossary.rest();
      return view;
    },
    sentence: () => readout.sentence(view),
    /** What is shown: the answer, the picture and the model. */
    title: bar.title,
    /** Arranges the board for a size: "wide" or "narrow". */
    arrange(size) {
      place = size;
      settle();
    },
    destroy() {
      bar.destroy();
      glossary.destroy();
      tabs.destroy();
    },
  };

  /** Leaves out the controls that a step of a lesson does not name; null: shows all. */
  function showOnly(names) {
    root.classList.toggle("vv-in-lesson", names !== null);
    for (const node of controls) {
      node.classList.toggle("vv-left-out", names !== null && !names.includes(node.dataset.control));
    }
  }

  /**
   * Puts the row of tabs above both columns if there are two, else below the picture. On a wall the
   * picture is as high as the window: what else must be in sight stands beside it.
   */
  function settle() {
    const wall = place === "wide" && app.taste.projector;
    if (arranged === place + wall) return;
    arranged = place + wall;
    if (wall) readout.root.after(steering.where);
    else steering.root.prepend(steering.where);
    (wall ? steering.where : place === "wide" ? bar.root : readout.root).after(tabs.list);
    bar.arrange(place, stage.root);
  }
}

/** A button for the next language: its text in that language, its title in the language of the page. */
function languageButton(app) {
  const next = nextLanguage(app.language);
  return button({ text: languageName(next, next), onClick: () => app.switchLanguage(),
    title: app.t("languageTitle", { language: languageName(next, app.language) }) });
}

function createTitleBar(app, save, openHelp, projecting) {
  const { t } = app;
  const { manifest } = app.source;
  const undo = button({ text: "↶", title: t("undo"), onClick: () => app.undo() });
  const redo = button({ text: "↷", title: t("redo"), onClick: () => app.redo() });
  const projector = button({ text: t("projector"), title: t("projectorTitle"), pressed: false,
    onClick: () => app.prefer({ projector: !app.taste.projector }) });
  projector.classList.add("vv-projector-button"); // a phone has no such button
  const language = app.languages ? languageButton(app) : null;
  const sharing = manifest.link ? createSharing(app) : null; // without it nobody else could open the link
  const names = [manifest.photo.name, sized(translated(manifest.model.title, app), app)].filter(Boolean).join(" · ");
  const answer = answerOf(app);
  const title = answer ? answer.text : names;
  const { height, width } = manifest.model.image;
  const says = answer?.note || t(answer ? "says" : "saysNothing", { count: grouped(manifest.model.num_classes), height, width });
  const lessons = button({ text: t("lessons"), title: t("lessonsTitle"), onClick: () => app.openLessons() });
  lessons.classList.add("vv-lessons-button");
  const tools = el("div", { class: "vv-tools" }, lessons, undo, redo, save, sharing?.button, projecting, projector,
    button({ text: "?", title: t("help"), onClick: openHelp }), language);
  const about = el("div", { class: "vv-names-line" },
    el("p", { class: "vv-names", text: names }),
    el("p", { text: t("summary", { depth: manifest.model.depth, heads: manifest.model.num_heads, tokens: manifest.model.num_tokens }) }),
    ...createPhotoNotes(app));
  const titles = el("div", { class: "vv-title" }, el("h2", { text: title }), el("p", { class: "vv-says", text: says }), createRivals(app));
  const root = el("header", { class: "vv-title-bar" }, titles,
    manifest.model.trained === false
      ? el("p", { class: "vv-untrained" }, el("b", { text: t("untrained") }), el("span", { text: " " + t("untrainedNote") }))
      : null,
    sharing?.note, sharing?.dialog);
  return {
    root, titles, title: [title, names].filter((text, at) => at === 0 || text !== title).join(" · "),
    /** Puts the tools beside the title where there is room, else under the picture. */
    arrange(size, picture) {
      if (size === "wide") root.querySelector(".vv-title").after(tools);
      else picture.after(tools);
      if (size === "wide") root.querySelector(".vv-title").append(about);
      else tools.after(about);
    },
    destroy: () => sharing?.destroy(),
    render() {
      allow(undo, app.history.past.length > 0);
      allow(redo, app.history.future.length > 0);
      projector.setAttribute("aria-pressed", String(app.taste.projector));
    },
  };
}

/** The next answers, each with a thin bar. */
function createRivals(app) {
  const rivals = rivalsOf(app);
  if (rivals.length === 0) return null;
  return el("ul", { class: "vv-rivals", "aria-label": app.t("rivals") }, ...rivals.map(({ name, probability }) => {
    const fill = el("span", { class: "vv-fill" });
    fill.style.width = 100 * probability + "%";
    return el("li", {}, el("span", { text: name }), el("span", { class: "vv-track", "aria-hidden": "true" }, fill),
      el("b", { text: percent(probability) }));
  }));
}

/** The view of a source with the selection. @returns {import("./types.js").View} */
function viewOf(app) {
  const token = app.shownToken();
  return { source: app.source, token, pointer: app.pointed, shown: overlayOf(app, token) };
}

/** Tabs as the ARIA practices describe them; a panel is made when it is first opened. */
function createTabs(app) {
  const { t } = app;
  const made = new Map();
  const pages = app.panels.map(({ id }) => {
    const [tabId, pageId] = [freshId("tab"), freshId("panel")];
    const tab = el("button", { type: "button", role: "tab", id: tabId, "aria-controls": pageId,
      text: t("panel_" + id), onclick: () => visit(id) });
    const page = el("div", { role: "tabpanel", id: pageId, "aria-labelledby": tabId, class: "vv-panel" });
    return { id, tab, page };
  });
  const list = el("div", { role: "tablist", class: "vv-tabs", "aria-label": t("panels"),
    onkeydown: moveTab }, ...pages.map(({ tab }) => tab));
  return {
    list, pages: pages.map(({ page }) => page),
    render(view, second) {
      for (const page of made.values()) page.settle();
      for (const { id, tab, page } of pages) {
        const open = id === app.selection.panel;
        if (tab.getAttribute("aria-selected") !== String(open)) {
          tab.setAttribute("aria-selected", String(open));
          tab.tabIndex = open ? 0 : -1;
          page.hidden = !open;
          // The row of tabs scrolls on a narrow screen; the open tab must be visible.
          if (open) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
        }
        if (!open) continue;
        if (!made.has(id)) made.set(id, createTabPanel(app, page));
        made.get(id).render(view, second);
      }
    },
    /** The panel that is shown. */
    open() {
      const { id, page } = pages.find((one) => one.id === app.selection.panel);
      return { id, page, saves: app.panel().saves };
    },
    destroy() {
      for (const page of made.values()) page.destroy();
    },
  };

  /** Opens a panel, and scrolls to its beginning if the page was scrolled down in another. */
  function visit(id) {
    const pageOf = (panel) => pages.find((one) => one.id === panel).page;
    const open = pageOf(app.selection.panel).getBoundingClientRect();
    const scrolled = open.top < list.getBoundingClientRect().bottom;
    app.select(visitPanel(id, app.selection, app.shape()));
    // In the next frame, when all of it has its height: scroll anchoring would move the page before.
    if (scrolled) requestAnimationFrame(() => pageOf(id).scrollIntoView());
  }

  function moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = pages.findIndex(({ tab }) => tab === event.target);
    const next = pages[(at + step + pages.length) % pages.length];
    visit(next.id);
    next.tab.focus({ preventScroll: true });
    event.preventDefault();
  }
}
