/** The title bar: the headline, what was analyzed, and the tools of the page. */

import { createConsentQuestion } from "./consentquestion.js";
import { createHeadline } from "./headline.js";
import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { createSharing } from "../saving/sharing.js";
import { lookOf } from "../maths/photolevels.js";
import { visitPanel } from "../state/panels.js";
import { languageName, nextLanguage } from "../text/language.js";
import { reasonOf } from "../text/refusal.js";
import { translated } from "../text/words.js";

/**
 * @param {import("../main.js").App} app
 * @param {HTMLElement} save  the button of the dialog that saves
 * @param {() => void} openHelp
 * @param {HTMLElement} projecting  the tools of projector mode
 */
export function createTitleBar(app, save, openHelp, projecting, unfold) {
  const { t } = app;
  const { manifest } = app.source;
  const undo = button({ text: "↶", title: t("undo"), onClick: () => app.undo() });
  undo.classList.add("vv-undo");
  const redo = button({ text: "↷", title: t("redo"), onClick: () => app.redo() });
  const projector = button({
    text: t("projector"),
    title: t("projectorTitle"),
    pressed: false,
    onClick: () => app.prefer({ projector: !app.taste.projector }),
  });
  projector.classList.add("vv-projector-button"); // a phone has no such button
  const language = app.page.languages ? languageButton(app) : null;
  const sharing = manifest.link ? createSharing(app) : null; // without it nobody else could open the link
  const headline = createHeadline(app);
  const lessons = button({
    text: t("lessons"),
    title: t("lessonsTitle"),
    onClick: () => app.teaching.openLessons(),
  });
  lessons.classList.add("vv-lessons-button");
  const all = button({
    text: t("allPanels"),
    title: t("allPanelsTitle"),
    onClick() {
      app.prefer({ all: true });
      app.select(visitPanel(app.panels.find(({ first }) => first).id, app.selection, app.shape()));
      unfold();
    },
  });
  all.classList.add("vv-all");
  const tools = el(
    "div",
    { class: "vv-tools" },
    lessons,
    all,
    undo,
    redo,
    save,
    sharing?.button,
    projecting,
    projector,
    button({ text: "?", title: t("help"), onClick: openHelp }),
    language,
  );
  const summary = t("summary", {
    depth: manifest.model.depth,
    heads: manifest.model.num_heads,
    tokens: manifest.model.num_tokens,
  });
  const about = el(
    "div",
    { class: "vv-names-line" },
    el("p", { class: "vv-names", text: headline.names, title: headline.names }),
    el("p", { text: summary, title: summary }),
  );
  // Not in the headline, whose height is the same for every picture and model.
  const consent = createConsentQuestion(app);
  const alike = el("p", { role: "status", hidden: true });
  const notes = el(
    "div",
    { class: "vv-notes" },
    consent.root,
    alike,
    app.backend.holdsPhoto(manifest)
      ? el("p", { class: "vv-photo-note vv-here", text: t("photoHere") })
      : null,
    manifest.model.trained === false
      ? el(
          "p",
          { class: "vv-untrained" },
          el("b", { text: t("untrained") }),
          el("span", { text: " " + t("untrainedNote") }),
        )
      : null,
    ...createPhotoNotes(app),
    app.page.lacksPhoto ? el("p", { class: "vv-photo-note", text: t("lacksPhoto") }) : null,
    app.page.unknown.length > 0
      ? el("p", {
          class: "vv-photo-note",
          text: t("unknownNames", { names: app.page.unknown.map((name) => name.slice(0, 40)).join(", ") }),
        })
      : null,
  );
  const root = el("header", { class: "vv-title-bar" }, headline.root, sharing?.note, sharing?.dialog);
  return {
    root,
    notes,
    titles: headline.root,
    title: headline.title,
    answer: headline.render,
    /**
     * Puts the tools beside the title where there is room or few of them are shown, else under the folded
     * options.
     */
    arrange(size, options, plain) {
      if (size === "wide" || plain) headline.root.after(tools);
      else options.append(tools);
      (size === "wide" ? headline.root : options).append(about);
    },
    destroy: () => sharing?.destroy(),
    render() {
      headline.render();
      consent.render();
      const { likeFailure } = app.source.explanations;
      setText(alike, likeFailure ? t("likenessFailed", { reason: reasonOf(likeFailure, app.language) }) : "");
      show(alike, likeFailure !== null);
      show(
        notes,
        [...notes.children].some((/** @type {any} */ note) => !note.hidden),
      );
      allow(undo, app.history.past.length > 0);
      allow(redo, app.history.future.length > 0);
      projector.setAttribute("aria-pressed", String(app.taste.projector));
    },
  };
}

/**
 * Notes on the photo, one line each. If the host can do so, a button beside one analyzes the photo again: with its
 * levels stretched where it is dark, inverted where the model was not taught its ink, or as it was.
 */
function createPhotoNotes(app) {
  const { t, page, source } = app;
  const { photo, link, template } = source.manifest;
  const lines = photo.notes.map((note) => line(translated(note, app)));
  if (photo.dark_ink) lines.push(line(t("darkInk")));
  const look = lookOf(photo);
  // a page of one analysis has its picture as the model saw it: what was done before cannot be undone
  const undoable = Boolean(page.look && (link || template));
  const offer = (at, text, title, change) =>
    lines[at].append(" ", button({ text, title, onClick: () => page.look({ ...look, ...change }) }));
  if (photo.stretched && undoable)
    offer(photo.levels_note, t("stretchBack"), t("invertBackTitle"), { stretched: false });
  else if (photo.dark && page.look)
    offer(photo.levels_note, t("stretch"), t("stretchTitle"), { stretched: true });
  const last = lines.length - 1;
  if (photo.inverted && undoable) offer(last, t("invertBack"), t("invertBackTitle"), { inverted: false });
  else if (photo.dark_ink && page.look) offer(last, t("invert"), t("invertTitle"), { inverted: true });
  return lines;

  function line(text) {
    return el("p", { class: "vv-photo-note", text });
  }
}

/** A button for the next language: its text in that language, its title in the language of the page. */
function languageButton(app) {
  const next = nextLanguage(app.language);
  const made = button({
    text: languageName(next, next),
    onClick: () => app.page.switchLanguage(),
    title: app.t("languageTitle", { language: languageName(next, app.language) }),
  });
  made.classList.add("vv-language");
  return made;
}
