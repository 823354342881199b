/** mount: puts the viewer into an element, and keeps it in step with manifest and page. */

import { createCamera } from "./session/camera.js";
import { createComparisons } from "./session/comparisons.js";
import { createConsent } from "./session/consent.js";
import { listenToKeys } from "./shell/keyboard.js";
import { createLiked } from "./session/liked.js";
import { createPendingPhoto } from "./session/pendingphoto.js";
import { listenToDialogs } from "./parts/drops.js";
import { createOpening } from "./session/opening.js";
import { createPlaying } from "./session/playing.js";
import { createRestore } from "./session/restore.js";
import { createScreen } from "./shell/screen.js";
import { createSecondSource } from "./session/secondsource.js";
import { createSketching } from "./session/sketching.js";
import { createHistory } from "./session/history.js";
import { fetchUrl, isGone, ofBase64 } from "./data/files.js";
import { PANELS } from "./panels/index.js";
import { watchSurroundings } from "./parts/surroundings.js";
import { createBackend } from "./passes/backend.js";
import { createBench } from "./state/bench.js";
import { KEPT } from "./state/comparable.js";
import { createChoosing } from "./state/choosing.js";
import { OPERATED } from "./state/experiment.js";
import { readLink, writeLink } from "./state/link.js";
import { recall, remember } from "./state/memory.js";
import { panelOf } from "./state/panels.js";
import { PhotoStore } from "./state/photos.js";
import { createPointer } from "./state/pointer.js";
import { validSelection } from "./state/state.js";
import { startTaste, validTaste } from "./state/taste.js";
import { createCurriculum } from "./teaching/curriculum.js";
import { languageOf, nextLanguage } from "./text/language.js";
import { learn } from "./text/latetexts.js";
import { LEARNED_HERE, refusal } from "./text/refusal.js";
import { translator } from "./text/words.js";

/** Delay after which the page shows that an answer is pending; a faster answer needs no such note. */
const SOON_MS = 100;

const storage = () => localStorage;

/**
 * The initial language of a page that sets none itself: the one in the address (`?lang=ko`), else that
 * of the last visit, else the browser's.
 * @param {string} search  the query of the address
 * @param {string} [otherwise]
 */
export function firstLanguage(search, otherwise = navigator.language) {
  const asked = new URLSearchParams(search).get("lang");
  return languageOf(asked || recall(storage).language || otherwise);
}

/** @typedef {import("./app.d.ts").App} App */

/**
 * Puts the viewer into an element.
 * @param {import("./types.js").Host} host
 * @returns {import("./host.d.ts").Mounted}
 */
export function mount(host) {
  const { address = null, photos = new PhotoStore() } = host;
  /** Runs an analysis again that the host has forgotten. */
  const noticing = (error) => {
    if (isGone(error)) restore.renew();
    throw error;
  };
  const fetchFile = (file, signal) => (host.fetchFile ?? fetchUrl)(file, signal).catch(noticing);
  const link = address ? readLink(address.read(), PANELS) : null;
  let late = 0;
  const app = /** @type {App} */ ({}); // it has all its members once the opening is there
  const first = firstOf(app, link);
  Object.assign(app, first);
  const playing = createPlaying(app, host, show);
  const { draw, take, look } = playing;
  const around = { ...host, draw, take, look };
  app.page = pageOf(app, around, (settings) => screen.fetching(() => playing.open(settings)), render);
  const screen = createScreen(app, around, render);
  screen.root.prepend(playing.row);
  const pending = createPendingPhoto(app, screen, render);
  const consent = createConsent(app, host, photos, { share, render });
  const backend = createBackend(host, { fetchFile, noticing, photos, consent: consent.require }, render);
  const comparisons = createComparisons(app, backend, photos, fetchFile, render);
  const camera = createCamera(app, around, screen, backend.prepare);
  const history = createHistory(app, screen, host, photos);
  const restore = createRestore(app, screen, address, history, host.reopen ?? null);
  const second = createSecondSource(app, comparisons.manifestOf, fetchFile, render);
  const liked = createLiked(app, comparisons.manifestOf, fetchFile, render);
  const pointer = createPointer(app, render);
  // While a lesson asks for patches, a tap or click on the picture is a guess.
  const guessing = (otherwise) => (token) => (app.course.takes() ? app.course.take(token) : otherwise(token));
  Object.assign(pointer, { pin: guessing(pointer.pin), choose: guessing(pointer.choose) });
  const { course, ...teaching } = createCurriculum(
    app,
    host,
    comparisons.results,
    photos,
    storage,
    screen.root,
    render,
  );
  const rest = {
    pointer,
    ...createChoosing(
      app,
      storage,
      (selected) => {
        render();
        history.settle(selected);
      },
      sketch,
    ),
    course,
    teaching,
    page: app.page,
    bench: createBench(app, render),
    sketching: createSketching(app, backend, screen, render),
    consent,
    backend,
    comparisons: {
      manifestOf: comparisons.manifestOf,
      send: comparisons.send,
      results: comparisons.results,
      besides: () => comparisons.besides(app.source.manifest),
      keep() {
        if (app.selection.beside === KEPT) second.close();
        comparisons.keep(app.source.manifest);
        app.select({ beside: KEPT });
        render(); // the selection is the same where another one was kept before
      },
    },
    /** The bounds of a selection: source, panels, lessons, and analyses that can be put beside it. */
    shape: (source = app.source) => ({
      ...source.shape,
      panels: PANELS,
      lessons: app.course.lessons,
      besides: comparisons.besides(source.manifest).map(({ key }) => key),
    }),
  };
  Object.assign(app, /** @satisfies {Omit<App, "hasChosen">} */ ({ ...first, ...rest }));
  const opening = createOpening(
    app,
    screen,
    fetchFile,
    address,
    link,
    { shown: comparisons.shown, gone, render },
    restore,
  );
  app.hasChosen = opening.hasChosen;
  const surroundings = watchSurroundings(screen.root, (now) => {
    screen.dress(now);
    if (now.language !== app.language) change(now.language);
  });
  speak(surroundings.language);
  screen.dress(surroundings);
  const deaf = listenToKeys(app, screen, history.readAloud);
  const blind = listenToDialogs(() => app.source && backend.prepare(app.source.manifest.model));
  update(host.manifest ?? null, host.selection, host.awaited);
  if (app.page.play) playing.begin(app.page.play);
  return {
    analyse: show,
    learned: playing.learned,
    give: playing.give,
    askToOpen: consent.askToOpen,
    askConsent(photo) {
      Object.assign(app.page, { resizing: "", widening: false });
      consent.ask(photo);
    },
    update: (manifest, selection) => {
      pending.end();
      update(manifest, selection);
    },
    over() {
      Object.assign(app.page, { resizing: "", widening: false });
      consent.over();
      if (!opening.loading() && !pending.here()) history.release();
      render();
    },
    release: history.release,
    select: (wanted) => app.source && app.select(wanted),
    openLessons: teaching.openLessons,
    openDrawing: screen.openDrawing,
    openCamera: () => screen.fetching(camera.toggle),
    openPlayground: () => screen.fetching(playing.open),
    destroy() {
      for (const end of [
        opening.destroy,
        blind,
        camera.close,
        history.stop,
        backend.stop,
        playing.destroy,
        deaf,
        surroundings.stop,
        () => teaching.calls?.stop(),
      ])
        end();
      screen.root.remove();
    },
  };

  function update(manifest, wanted, awaited) {
    opening.update(backend.completed(manifest), wanted, awaited);
  }

  function gone() {
    second.close();
    liked.close();
  }

  /** Sends a photo; it is shown again, as it is now, when the host has analyzed it. */
  function share(photo) {
    restore.expect();
    return backend.share(photo);
  }

  /** A photo that stays in this page. */
  function show(template, photo) {
    return pending.during(template, photo, backend.analyze(template, photo), (manifest) => {
      if (photo.id) photos.keep(/** @type {import("./state/photos.js").OwnPhoto} */ (photo));
      update(manifest);
    });
  }

  /** Speaks another language, if its texts can be had; else the page stays in the one that it has. */
  async function change(language) {
    const page = document.documentElement;
    if (!(await learn(language, host.texts))) page.lang = app.language;
    // it was changed once more meanwhile
    if (language !== languageOf(page.lang) || language === app.language) return;
    speak(language);
    screen.translate();
    if (screen.board) history.settle();
  }

  function speak(language) {
    Object.assign(app, { language, t: translator(language) });
  }

  /**
   * Handles a change by a hand that still moves: sends the request before anything is drawn. The next drawing
   * shows the answer, or after `SOON_MS` that it is pending.
   */
  function sketch() {
    history.settle();
    if (app.sketching.ask()) return;
    app.second = second.follow();
    clearTimeout(late);
    late = setTimeout(render, SOON_MS);
  }

  function render() {
    clearTimeout(late);
    if (!app.source || !screen.board || app.sketching.draws()) return;
    const missed = app.course.missed();
    if (missed) {
      // it belongs to the step that is open, and is nothing to undo
      app.selection = validSelection(missed, app.selection, app.shape());
      app.history = { ...app.history, now: app.selection };
    }
    const { selection, source } = app;
    source.store.look(selection.layer);
    if (app.bench.marks()) backend.prepare(source.manifest.model);
    app.second = second.follow();
    const other = app.facing()?.source ?? null;
    liked.follow();
    source.explanations.meet(other, selection.beside === OPERATED);
    other?.explanations.meet(source);
    pending.render(backend.model);
    teaching.calls?.render();
    playing.render();
    camera.render();
    if (!opening.loading() && !pending.here()) screen.setState(source.failure ? "error" : "ready");
    if (screen.draw().shown.missing === "layer" || app.panel().needs === "layer")
      source.store.want(() => source === app.source && render());
  }
}

/** Adds texts of a host's own; to be called before `mount`. */
export const prepare = learn;

/** Why no host can do something with a model that has learned in the page, by language. */
export const learnedHere = () => refusal(LEARNED_HERE).reasons;

/** For a page that has its files in it. */
export const fromBase64 = ofBase64;

/**
 * The members of the app that need nothing but its host, and no analysis yet.
 * @param {App} app
 * @param {any} asked  fields of the link
 */
function firstOf(app, asked) {
  return {
    t: null,
    language: "",
    history: null,
    selection: null,
    source: null,
    second: null,
    panels: PANELS,
    taste: [recall(storage), asked].reduce(
      (base, wanted) => validTaste(wanted, base, PANELS),
      startTaste(PANELS),
    ),
    panel: () => panelOf(PANELS, app.selection.panel),
    facing: () => app.second?.app ?? null,
  };
}

/**
 * The page around the viewer: its language, its tools, and what a visitor may do in it.
 * @param {App} app
 * @param {import("./types.js").Host} host
 * @param {(settings?: string) => Promise<void>} play  opens the playground
 * @param {() => void} render
 * @returns {import("./app.d.ts").Page}
 */
function pageOf(app, { texts = null, address = null, languages = false, ...host }, play, render) {
  const page = {
    languages,
    again: host.again ?? null,
    look: host.look ?? null,
    resizing: "",
    looksOpen: false,
    optionsOpen: false,
    note: "",
    tools: { freeze: false, pen: false, cover: false },
    moved: false,
    take: host.take ?? null,
    play: host.playing ? play : null,
    widening: false,
    wide: host.wide
      ? {
          ...host.wide,
          open() {
            page.widening = true;
            host.wide.open();
            render();
          },
        }
      : null,
    resize: host.resize
      ? (size) => {
          page.resizing = size;
          host.resize(size);
        }
      : null,
    async switchLanguage() {
      const next = nextLanguage(app.language);
      if (!(await learn(next, texts))) return;
      document.documentElement.dataset.vvLanguage = next; // web/page/page.js undoes what Gradio writes later
      document.documentElement.lang = next;
      remember(storage, { language: next });
    },
    link:
      address &&
      (() =>
        writeLink(address.read(), app.selection, app.taste, app.source.manifest.link ?? {}, app.shape(), {
          lang: app.language,
          with: app.pointer.compared,
        })),
  };
  return page;
}
