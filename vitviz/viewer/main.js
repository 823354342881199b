/** mount: puts the viewer into an element, and keeps it in step with manifest and page. */

import { createAsking } from "./asking.js";
import { createCamera } from "./camera.js";
import { createComputing } from "./computing.js";
import { listenToKeys } from "./keyboard.js";
import { createIncoming } from "./incoming.js";
import { createOpening } from "./opening.js";
import { createPlaying } from "./playing.js";
import { createReturning } from "./returning.js";
import { createScreen } from "./screen.js";
import { createSecondSource } from "./secondsource.js";
import { createSketching } from "./sketching.js";
import { createTelling } from "./telling.js";
import { fetchUrl, isGone, ofBase64 } from "./data/files.js";
import { PANELS } from "./panels/index.js";
import { watchSurroundings } from "./parts/surroundings.js";
import { createBench } from "./state/bench.js";
import { KEPT } from "./state/besides.js";
import { createChoosing } from "./state/choosing.js";
import { readLink, writeLink } from "./state/link.js";
import { recall, recordBook, remember } from "./state/memory.js";
import { panelOf } from "./state/panels.js";
import { createPointerState } from "./state/pointer.js";
import { validSelection } from "./state/state.js";
import { startTaste, validTaste } from "./state/taste.js";
import { createCurriculum } from "./teaching/curriculum.js";
import { languageOf, nextLanguage } from "./text/language.js";
import { learn } from "./text/learning.js";
import { translator } from "./text/words.js";

/** An answer that comes within so long needs no word that it is on its way. */
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

/**
 * The app: what the parts of the viewer read and call. Their `render` draws from the app and nothing
 * else; they change what is shown only by `select`, `prefer` and `point`.
 * @typedef {{
 *   t: (key: string, values?: any) => string,
 *   source: import("./data/source.js").Source,
 *   selection: import("./state/state.js").Selection, history: import("./state/state.js").History,
 *   taste: import("./types.js").Taste, pointed: number|null, previewed: number|null, shownToken: () =>
 *     number,
 *   select: (wanted: any) => void, sketch: (wanted: any) => void, settled: (selection:
 *     import("./state/state.js").Selection) => void, prefer: (wanted: any) => void,
 *   point: (token: number|null, exploring: boolean) => void, preview: (token: number|null) => void, freeze:
 *     (on: boolean) => void,
 *   pair: () => {query: number, key: number}, light: (part: import("./types.js").Lit) => void,
 *   language: string, again: null|(() => void), invert: null|(() => void), resize: null|((size: string) =>
 *     void), resizing: string,
 *   ask: null|((name: string, params: any) => Promise<any>), link: null|(() => string),
 *   undo: () => void, redo: () => void, switchLanguage: () => void,
 *   choose: (token: number) => void, pin: (token: number) => void, release: () => void,
 *   picksPartner: () => boolean, pairPick: string, choosePick: (pick: string) => void,
 *   pointPair: (cell: {query: number, key: number}|null) => void, pointPartner: (token: number|null) => void,
 *   pointedPartner: number|null, compared: number|null, shownPartner: () => number, lit:
 *     import("./types.js").Lit, forget: () => void,
 *   facing: () => App|null, send: null|((file: File) => Promise<string>), besides: () =>
 *     import("./types.js").Beside[], second: import("./secondsource.js").Second, keep: () => void,
 *   languages: boolean, hasChosen: () => boolean, unknown: string[], needed: Set<string>, share: () =>
 *     Promise<void>, staysHere: () => boolean, keepHere: () => void, looksOpen: boolean, optionsOpen:
 *     boolean, tools: Record<string, boolean>, moved: boolean, forTeacher: boolean, operates: boolean,
 *     runner: ReturnType<typeof createComputing>["runner"], here: import("./data/source.js").Here, bench:
 *     import("./state/bench.js").Bench, sketching: ReturnType<typeof createSketching>,
 *   album: any, manifestOf: (key: string) => Promise<import("./types.js").Manifest>, take: ((file: Blob,
 *     name: string) => any)|null,
 *   course: import("./lessons/course.js").Course, travels: boolean, openLessons: () => void, speaksLessons:
 *     () => boolean, play: ((settings?: string) => Promise<void>)|null,
 *   room: null|import("./types.js").Room, guesses: ReturnType<typeof import("./state/memory.js").guessBook>,
 *     check: import("./lessons/check.js").Check, records: ReturnType<typeof
 *     import("./state/memory.js").recordBook>, takeHome: null|((wanted: any) => Promise<any>),
 *   shelf: import("./lessons/shelf.js").Shelf, collect: (lesson: import("./lessons/own.js").OwnLesson) =>
 *     void,
 *   panels: import("./state/panels.js").PanelDescription[], shape: (source?:
 *     import("./data/source.js").Source) => import("./state/state.js").Shape,
 *   panel: () => import("./state/panels.js").PanelDescription,
 * }} App
 */

/**
 * @param {import("./types.js").Host} host
 * @returns {{update: (manifest: any|null, selection?: any) => void,
 *   analyse: (template: import("./types.js").Manifest, photo: import("./types.js").OwnPhoto) =>
 *     Promise<boolean>, need: () => void,
 *   over: () => void, select: (wanted: any) => void, openLessons: () => void, openDrawing: () => void,
 *     openCamera: () => void, openPlayground: () => void, destroy: () => void}}
 *   analyse: shows a photo that stays in this page, in the model of a manifest; false where the host has to
 *   analyze it. Rejected for what is no
 *     picture, with the sentence by language as `said`. need: asks whether the photo that is shown may be
 *       sent. over: what the host was asked
 *     for has come, or will not
 */
export function mount(host) {
  const { address = null } = host;
  /** Runs an analysis again that the host has forgotten. */
  const noticing = (error) => {
    if (isGone(error)) returning.renew();
    throw error;
  };
  const fetchFile = (file, signal) => (host.fetchFile ?? fetchUrl)(file, signal).catch(noticing);
  const link = address ? readLink(address.read(), PANELS) : null;
  let late = 0;
  const app = createApp(host, link);
  const playing = createPlaying(app, host, show);
  const screen = createScreen(app, { ...host, draw: playing.draw }, render);
  const incoming = createIncoming(app, host, screen, render);
  const computing = createComputing(host, render, fetchFile, incoming.refuse);
  const asking = createAsking(app, host, computing, fetchFile, noticing, incoming.refuse, render);
  const camera = createCamera(app, host, screen, computing.prepare);
  const telling = createTelling(app, screen, host);
  const returning = createReturning(app, address, telling, host.reopen ?? null);
  const second = createSecondSource(app, asking.manifestOf, fetchFile, render);
  const pointer = createPointerState(app, render);
  // While a lesson asks for patches, a tap or click on the picture is a guess.
  const guessing = (otherwise) => (token) => (app.course.takes() ? app.course.take(token) : otherwise(token));
  Object.assign(
    app,
    pointer,
    { pin: guessing(pointer.pin), choose: guessing(pointer.choose) },
    createChoosing(
      app,
      storage,
      (selected) => {
        render();
        telling.settle(selected);
      },
      sketch,
    ),
    createCurriculum(app, host, asking.results, storage, screen.root, render),
    {
      bench: createBench(app, render),
      sketching: createSketching(app, computing, screen, render),
      play: host.playing ? (settings) => screen.fetching(() => playing.open(settings)) : null,
      share: () => {
        returning.expect();
        return asking.share();
      },
      staysHere: incoming.staysHere,
      keepHere: incoming.keepHere,
      ask: asking.ask,
      manifestOf: asking.manifestOf,
      take: host.take ?? null,
      send: asking.send,
      takeHome: asking.takeHome,
      operates: asking.operates,
      runner: computing.runner,
      here: computing,
      besides: () => asking.besides(app.source.manifest),
      /** The bounds of a selection: source, panels, lessons, and analyses that can be put beside it. */
      shape: (source = app.source) => ({
        ...source.shape,
        panels: PANELS,
        lessons: app.course.lessons,
        besides: asking.besides(source.manifest).map(({ key }) => key),
      }),
      keep() {
        if (app.selection.beside === KEPT) second.close();
        asking.keep(app.source.manifest);
        app.select({ beside: KEPT });
      },
    },
  );
  const opening = createOpening(
    app,
    screen,
    fetchFile,
    address,
    link,
    { shown: asking.shown, gone: second.close, render },
    returning,
  );
  app.hasChosen = opening.hasChosen;
  const surroundings = watchSurroundings(screen.root, (now) => {
    screen.dress(now);
    if (now.language !== app.language) change(now.language);
  });
  speak(surroundings.language);
  screen.dress(surroundings);
  const deaf = listenToKeys(app, screen, telling.readAloud);
  update(host.manifest ?? null, host.selection, host.awaited);
  return {
    analyse: show,
    need() {
      app.resizing = "";
      incoming.need();
    },
    update: (manifest, selection) => {
      incoming.end();
      update(manifest, selection);
    },
    over() {
      app.resizing = "";
      if (!opening.loading() && !incoming.here()) telling.release();
      render();
    },
    select: (wanted) => app.source && app.select(wanted),
    openLessons: app.openLessons,
    openDrawing: screen.openDrawing,
    openCamera: () => screen.fetching(camera.toggle),
    openPlayground: () => screen.fetching(playing.open),
    destroy() {
      for (const end of [
        opening.destroy,
        camera.close,
        telling.stop,
        computing.stop,
        playing.destroy,
        deaf,
        surroundings.stop,
      ])
        end();
      screen.root.remove();
    },
  };

  function update(manifest, wanted, awaited) {
    opening.update(computing.completed(manifest), wanted, awaited);
  }

  /** A photo that stays in this page. */
  function show(template, photo) {
    return incoming.during(template, photo, computing.analyse(template, photo), update);
  }

  /** Speaks another language, if its texts can be had; else the page stays in the one that it has. */
  async function change(language) {
    const page = document.documentElement;
    if (!(await learn(language, host.texts))) page.lang = app.language;
    // it was changed once more meanwhile
    if (language !== languageOf(page.lang) || language === app.language) return;
    speak(language);
    screen.translate();
    if (screen.board) telling.settle();
  }

  function speak(language) {
    Object.assign(app, { language, t: translator(language) });
  }

  /**
   * A hand moves: its question goes ahead of all drawing, and its answer is drawn, or that it takes a while.
   */
  function sketch() {
    telling.settle();
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
    if (app.bench.marks()) computing.prepare(source.manifest.model);
    app.second = second.follow();
    incoming.render(computing.runner);
    camera.render();
    if (!opening.loading() && !incoming.here()) screen.setState(source.failure ? "error" : "ready");
    if (screen.draw().shown.missing === "layer" || app.panel().needs === "layer")
      source.store.want(() => source === app.source && render());
  }
}

/** Adds texts of a host's own; to be called before `mount`. */
export const prepare = learn;

/** For a page that has its files in it. */
export const fromBase64 = ofBase64;

/** The initial app: the parts that it has from its host, and no analysis yet. @returns {any} */
function createApp(
  {
    texts = null,
    room = null,
    address = null,
    again = null,
    invert = null,
    resize = null,
    languages = false,
    taste = null,
  },
  asked,
) {
  const app = {
    t: null,
    room,
    languages,
    again,
    invert,
    history: null,
    selection: null,
    source: null,
    second: null,
    resizing: "",
    needed: new Set(),
    looksOpen: false,
    optionsOpen: false,
    tools: { freeze: false, pen: false, cover: false },
    moved: false,
    panels: PANELS,
    records: recordBook(storage),
    // opens the key of a lesson
    forTeacher: Boolean(address) && new URL(address.read()).searchParams.get("key") === "true",
    taste: [recall(storage), taste, asked].reduce(
      (base, wanted) => validTaste(wanted, base, PANELS),
      startTaste(PANELS),
    ),
    panel: () => panelOf(PANELS, app.selection.panel),
    /** Shows the photo in another size, which is `resizing` until the host has answered. */
    resize:
      resize &&
      ((size) => {
        app.resizing = size;
        resize(size);
      }),
    facing: () => app.second?.app ?? null,
    async switchLanguage() {
      const next = nextLanguage(app.language);
      if (!(await learn(next, texts))) return;
      document.documentElement.lang = next;
      remember(storage, { language: next });
    },
    /** The link to selection and taste; null in a page without an address. */
    link:
      address &&
      (() =>
        writeLink(address.read(), app.selection, app.taste, app.source.manifest.link ?? {}, app.shape(), {
          lang: app.language,
          with: app.compared,
        })),
  };
  return app;
}
