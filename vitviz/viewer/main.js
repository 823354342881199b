/** mount: puts the viewer into an element, and keeps it in step with manifest and page. */

import { createBoard } from "./board.js";
import { createDrawing } from "./parts/drawing.js";
import { el, guardFocus, keepFocus } from "./parts/dom.js";
import { explainFailure, fetchUrl } from "./data/files.js";
import { createPointerState } from "./state/pointer.js";
import { createCourse, stepLink } from "./lessons/course.js";
import { LESSONS } from "./lessons/index.js";
import { createOutcomes } from "./lessons/outcomes.js";
import { createShelf } from "./lessons/shelf.js";
import { createLessonList } from "./parts/lessonlist.js";
import { neighbour } from "./maths/geometry.js";
import { stateOf } from "./lessons/steps.js";
import { createBench } from "./state/bench.js";
import { KEPT, besidesOf } from "./state/besides.js";
import { OPERATED, read, touches } from "./state/experiment.js";
import { keyAction } from "./state/keys.js";
import { readLink, writeLink } from "./state/link.js";
import { newestOf } from "./state/newest.js";
import { overlayNamed } from "./state/overlays.js";
import { createPhotos } from "./state/photos.js";
import { createSecondSource } from "./secondsource.js";
import { guessBook, lessonBook, recall, remember } from "./state/memory.js";
import { Source } from "./data/source.js";
import { PANELS } from "./panels/index.js";
import { beginsWithPhotograph } from "./parts/picture.js";
import { frameTaken } from "./parts/takehome.js";
import { TOOLS } from "./parts/projecting.js";
import { panelOf } from "./state/panels.js";
import {
  carried, complete, push, redo, startHistory, startSelection, undo, validSelection,
} from "./state/state.js";
import { startTaste, validTaste } from "./state/taste.js";
import { watchSurroundings } from "./parts/surroundings.js";
import { startWalk } from "./parts/walk.js";
import { button } from "./parts/widgets.js";
import { languageOf, nextLanguage } from "./text/language.js";
import { granted } from "./text/refusal.js";
import { translator } from "./text/words.js";


/** A selection is told to the host and to screen readers when it has stayed the same this long. */
const SETTLED_MS = 250;

const storage = () => localStorage;

/**
 * The initial language of a page that sets none itself: the one in the address (`?lang=ko`), else that
 * of the last visit, else the browser's.
 * @param {string} search  the query of the address
 */
export function firstLanguage(search) {
  const asked = new URLSearchParams(search).get("lang");
  return languageOf(asked || recall(storage).language || navigator.language);
}

/**
 * The app: what the parts of the viewer read and call. Their `render` draws from the app and nothing
 * else; they change what is shown only by `select`, `prefer` and `point`.
 * @typedef {{
 *   t: (key: string, values?: any) => string,
 *   source: Source,
 *   selection: import("./state/state.js").Selection, history: import("./state/state.js").History,
 *   taste: import("./types.js").Taste, pointed: number|null, previewed: number|null, shownToken: () => number,
 *   select: (wanted: any) => void, prefer: (wanted: any) => void,
 *   point: (token: number|null, exploring: boolean) => void, preview: (token: number|null) => void, freeze: (on: boolean) => void,
 *   pair: () => {query: number, key: number}, light: (part: import("./types.js").Lit) => void,
 *   language: string, again: null|(() => void), invert: null|(() => void),
 *   ask: null|((name: string, params: any) => Promise<any>), link: null|(() => string),
 *   undo: () => void, redo: () => void, switchLanguage: () => void,
 *   choose: (token: number) => void, pin: (token: number) => void, release: () => void,
 *   picksPartner: () => boolean, pairPick: string, choosePick: (pick: string) => void,
 *   pointPair: (cell: {query: number, key: number}|null) => void, pointPartner: (token: number|null) => void,
 *   pointedPartner: number|null, compared: number|null, shownPartner: () => number, lit: import("./types.js").Lit, forget: () => void,
 *   facing: () => App|null, send: null|((file: File) => Promise<string>), besides: () => import("./types.js").Beside[], second: import("./secondsource.js").Second, keep: () => void,
 *   languages: boolean, looksOpen: boolean, forTeacher: boolean, operates: boolean, bench: import("./state/bench.js").Bench,
 *   course: import("./lessons/course.js").Course, travels: boolean, openLessons: () => void,
 *   guesses: ReturnType<typeof guessBook>, takeHome: null|((wanted: any) => Promise<any>),
 *   shelf: import("./lessons/shelf.js").Shelf, collect: (lesson: import("./lessons/own.js").OwnLesson) => void,
 *   panels: import("./state/panels.js").PanelDescription[], shape: () => import("./state/state.js").Shape,
 *   panel: () => import("./state/panels.js").PanelDescription,
 * }} App
 */

/**
 * @param {{element: HTMLElement, manifest?: any|null,
 *   fetchFile?: (file: any, signal: AbortSignal) => Promise<ArrayBuffer>,
 *   onSelect?: (selection: any) => void, ask?: (name: string, params: any) => Promise<any>,
 *   selection?: any, taste?: any, languages?: boolean,
 *   address?: {read: () => string, write: (href: string) => void}, again?: () => void,
 *   invert?: () => void, beside?: (key: string|{path: string, name: string}, id: string) => Promise<any>,
 *   send?: (file: File) => Promise<{address: string, name: string}>,
 *   operate?: (interventions: import("./state/experiment.js").Intervention[], id: string, first: {layer: number, token: number}) => Promise<any>, entitle?: (title: string) => void,
 *   go?: (href: string) => void, taken?: any, takeHome?: (wanted: any) => Promise<any>, draw?: (picture: Blob, name: string, first: boolean) => Promise<void>}} host
 *   ask: a question to the host; a reply with an `error` (and the same by language in `errors`) refuses.
 *   fetchFile: by default the file's `url`; the `status` of its error tells whether the file has expired.
 *   selection, taste: some of the initial fields; invalid values are ignored.
 *   address: of the page; it gives initial fields, and follows selection and taste.
 *   beside: fetches the manifest of a second analysis: by its key in `beside` of the first manifest, and
 *     by the id of the first. A photo that was sent stands for its key.
 *   send: takes a photo to the host, which does not show it.
 *   operate: fetches the manifest of the first analysis, by its id, with what is changed in its pass; the rows
 *     of a layer and a token come ahead.
 *   again: runs the analysis once more, when its files have expired.
 *   entitle: is told what is shown, for the title of the page.
 *   invert: runs it with light and dark of the photo exchanged, or as it was if they are.
 *   go: opens an address: another model or picture, for a lesson.
 *   taken: what a page that was taken home has of the one it was made in: note, lesson, guesses, worksheet.
 *   takeHome: makes such a page, of the analysis with an id; the reply has its `html`, or refuses.
 *   draw: analyzes a drawing; the first in the model of digits.
 *   languages: offer a button that changes the language of the page.
 * @returns {{update: (manifest: any|null, selection?: any) => void,
 *   select: (wanted: any) => void, openLessons: () => void, openDrawing: () => void, destroy: () => void}}
 */
export function mount(host) {
  const { element, fetchFile = fetchUrl, onSelect, languages = false, address = null } = host;
  const { again = null, invert = null, go = null } = host;
  const root = el("div", { class: "vitviz" });
  const live = el("p", { class: "vv-live", "aria-live": "polite" });
  const content = el("div");
  root.append(content, live);
  if (host.taken) frameTaken(content, host.taken);
  element.replaceChildren(root);

  const [offers, operates] = [Boolean(host.beside), Boolean(host.operate)];
  const lessons = [...LESSONS]; // and the own one
  const { taken = null } = host;
  let opening = null; // the source that is loading
  let grid = null; // of the source that was shown last
  let board = null;
  let message = null; // shown in place of the board; kept to write it in another language
  let settled = 0;
  let news = false; // whether the selection has changed since the host was told
  let spoken = false; // whether a token was read aloud since the selection changed
  let kept = null; // the manifest of the analysis that the visitor has kept
  let walk = null; // over a few tokens, at the start
  let asked = address ? readLink(address.read(), PANELS) : null; // fields in the link that opened the page

  const photos = createPhotos();
  /** The app, see `App`. @type {any} */
  const app = {
    t: null, languages, openLessons, travels: Boolean(go && address), ask: host.ask ? ask : null,
    takeHome: host.takeHome ? async (wanted) => granted(await host.takeHome(wanted)) : null,
    again, invert, history: null, looksOpen: false, operates,
    forTeacher: Boolean(address) && new URL(address.read()).searchParams.get("key") === "true", // opens the key of a lesson
    taste: [recall(storage), host.taste, asked].reduce((base, wanted) => validTaste(wanted, base, PANELS), startTaste(PANELS)),
    selection: null, source: null, panels: PANELS,
    panel: () => panelOf(PANELS, app.selection.panel),
    shape: () => shapeOf(app.source),
    facing: () => app.second?.app ?? null,
    /** The analyses that can be put beside the first. */
    besides: () => besidesOf(app.source.manifest, kept, offers, operates, photos.list()),
    /** Takes a photo to the host; it can stand beside then. Returns its key. */
    send: host.send && offers ? async (file) => {
      const key = photos.add(await host.send(file));
      render();
      return key;
    } : null,
    second: null,
    keep() {
      if (app.selection.beside === KEPT) second.close();
      kept = app.source.manifest;
      app.select({ beside: KEPT });
    },
    select(wanted) {
      const next = validSelection(wanted, app.selection, app.shape());
      commit(push(app.history, next, performance.now()));
    },
    undo: () => commit(undo(app.history)),
    redo: () => commit(redo(app.history)),
    prefer(wanted) {
      app.taste = validTaste(wanted, app.taste, PANELS);
      remember(storage, Object.fromEntries(Object.keys(wanted).map((name) => [name, app.taste[name]])));
      render();
      settle();
    },
    switchLanguage() {
      const page = document.documentElement;
      page.lang = nextLanguage(page.lang);
      remember(storage, { language: page.lang });
    },
    /** The link to selection and taste; null in a page without an address. */
    link: address && (() => writeLink(address.read(), app.selection, app.taste, app.source.manifest.link ?? {}, app.shape(),
      { lang: app.language, with: app.compared })),
  };

  app.shelf = createShelf(lessonBook(storage), () => address?.read() ?? null, taken?.lesson ?? null);
  app.collect = (lesson) => { // the collected lesson has changed; it may be the open one
    app.shelf.put(lesson);
    shelve();
    if (app.source) app.select({});
    render();
  };
  shelve();
  app.guesses = guessBook(storage, taken?.guesses);
  const outcomes = createOutcomes(operates ? async (interventions, id) => granted(await host.operate(interventions, id,
    { layer: app.selection.layer, token: app.selection.token })) : null, taken?.outcomes ?? {}, render);
  app.course = createCourse(app, lessons, app.guesses, travel, outcomes, render);
  app.bench = createBench(app, render);
  const pointer = createPointerState(app, render);
  // While a lesson asks for patches, a tap or click on the picture is a guess.
  const guessing = (otherwise) => (token) => (app.course.takes() ? app.course.take(token) : otherwise(token));
  Object.assign(app, pointer, { pin: guessing(pointer.pin), choose: guessing(pointer.choose) });
  const drawing = host.draw ? createDrawing(app, host.draw) : null;
  if (drawing) root.prepend(drawing.root);
  const operate = newestOf(({ interventions, id, ...first }) => host.operate(interventions, id, first));
  const second = createSecondSource(app, manifestOf, fetchFile, render);

  const surroundings = watchSurroundings(root, (now) => {
    dress(now);
    const t = translator(now.language);
    if (now.language === app.language) return;
    app.language = now.language;
    app.t = t;
    if (board) {
      rebuild();
      settle();
    } else if (message) showMessage(message);
  });
  app.language = surroundings.language;
  app.t = translator(app.language);
  dress(surroundings);
  root.addEventListener("keydown", onKey);
  update(host.manifest ?? null, host.selection);
  return { update, select: (wanted) => app.source && app.select(wanted), openLessons, openDrawing: () => drawing?.open(), destroy };

  /** Shows another analysis (null: none). The one shown before stays until the new one is here. */
  function update(manifest, wanted = null) {
    opening?.dispose();
    opening = null;
    if (!manifest?.files) {
      close();
      setState("empty");
      showMessage({ key: "empty" });
      return;
    }
    setState("loading");
    if (!board) showMessage({ key: "loading" });
    open(manifest, wanted);
  }

  async function open(manifest, wanted) {
    let mine = null;
    try {
      mine = new Source(manifest, fetchFile, app.ask, () => mine === app.source && render());
      opening = mine;
      const shape = shapeOf(mine);
      const start = startSelection(shape);
      // The selection stays as far as the new model allows.
      const kept = validSelection(app.selection && carried(app.selection, grid, mine.grid), start, shape);
      // A link that selects anything wins over the start that the host proposes.
      const begin = asked && !wanted && !Object.keys(asked).some((name) => name in start) ? manifest.start : null;
      const named = validSelection(begin ?? complete(wanted ?? asked, kept, shape), kept, shape);
      const step = lessons.find(({ id }) => id === named.lesson)?.steps[named.step - 1];
      const selection = step ? validSelection(stateOf(step, mine, shape), named, shape) : named;
      // A step can begin with the strongest partner, which nobody knows before the layer is here.
      const ahead = (!overlayNamed(selection.overlay).ahead || mine.showsAhead(selection)) && step?.state?.partner !== "strongest";
      await Promise.all([mine.loaded(beginsWithPhotograph(app, selection)), ahead ? null : mine.store.ensure(selection.layer)]);
      if (mine !== opening) return;
      opening = null;
      show(mine, selection);
      const { tokens } = mine.grid;
      if (begin?.walk) walk = startWalk(begin.walk.filter((token) => token < tokens), app.preview, root);
    } catch (error) {
      if (mine && (mine !== opening || mine.disposed)) return;
      mine?.dispose();
      opening = null;
      fail(error, () => update(manifest, wanted));
    }
  }

  /** The bounds of a selection: source, panels, and analyses that can be put beside it. */
  function shapeOf(source) {
    const besides = besidesOf(source.manifest, kept, offers, operates, photos.list()).map(({ key }) => key);
    return { ...source.shape, panels: PANELS, besides, lessons };
  }

  /** Puts the own lesson after the others, where there is one. */
  function shelve() {
    const own = app.shelf.played();
    lessons.splice(LESSONS.length, 1, ...(own ? [own] : []));
  }

  /** Whether the address leaves model and picture to the page. */
  function namesNothing() {
    const { searchParams } = new URL(address.read());
    return !searchParams.has("model") && !searchParams.has("example");
  }

  /** Opens a step of a lesson with the model and the picture that it was written for, where the host can. */
  function travel(origin) {
    if (!app.travels) return false;
    go(linkTo(origin));
    return true;
  }

  function linkTo(origin) {
    return stepLink(address.read(), origin, { lang: app.language, projector: app.taste.projector });
  }

  function openLessons() {
    root.querySelector(".vv-lesson-list")?.remove();
    const dialog = createLessonList(app, lessons, app.travels ? linkTo : null);
    root.append(dialog);
    dialog.showModal();
  }

  async function manifestOf(key, signal) {
    if (key === OPERATED) return operated(app.selection.experiment, signal);
    return key === KEPT ? kept : granted(await host.beside(photos.asked(key), app.source.manifest.pass.id));
  }

  /** The manifest of the first analysis after an experiment; files that it leaves as they are are those of the first. */
  async function operated(experiment, signal) {
    const { manifest } = app.source;
    const asked = { id: manifest.pass.id, interventions: photos.askedIn(read(experiment)) };
    const reply = granted(await operate({ ...asked, layer: app.selection.layer, token: app.shownToken() }, signal));
    // The photo itself does not show what was done to its pixels.
    const gone = touches(reply.pass.changes, "pixels") ? ["photograph", "whole"] : [];
    const same = Object.entries(manifest.files).filter(([name]) => !gone.includes(name));
    return { ...manifest, ...reply, files: { ...Object.fromEntries(same), ...reply.files }, asked };
  }

  /** Asks the host; throws a `Refusal` if it refuses. */
  async function ask(name, params) {
    return granted(await host.ask(name, params));
  }

  function show(mine, selection) {
    walk?.stop();
    app.source?.dispose();
    app.forget();
    grid = mine.grid;
    if (mine.manifest.upload) photos.add(mine.manifest.upload);
    Object.assign(app, { source: mine, selection });
    if (selection.lesson) app.selection = validSelection(app.course.arrival(), selection, app.shape());
    app.history = startHistory(app.selection);
    if (asked && app.shelf.refused()) openLessons(); // it says why
    if (asked?.lesson && address && namesNothing() && !app.course.atHome() && app.course.home()) return;
    if (selection.pinned && Number.isInteger(asked?.with) && asked.with < grid.tokens) app.compared = asked.with;
    rebuild();
    live.textContent = app.course.lesson() ? "" : board.title; // a lesson may ask for the answer
    // The link that opened the page stays until something changes; another picture needs a new one.
    if (!asked) address?.write(app.link());
    asked = null;
    // Paint first; then the other layers, one after another.
    setTimeout(() => {
      if (mine === app.source) mine.store.prefetch(app.selection.layer, () => {
        if (mine !== app.source) return;
        mine.positions.get(); // small beside a layer, and shown by its own panel at once then
        render();
      });
    }, 0);
  }

  function rebuild() {
    const focusAgain = keepFocus(content);
    board?.destroy();
    board = createBoard(app);
    board.arrange(root.dataset.size);
    host.entitle?.(board.title);
    content.replaceChildren(board.root);
    drawing?.render();
    render();
    focusAgain(board.stage.focus);
  }

  function commit(history) {
    if (history === app.history) return;
    app.history = history;
    app.selection = history.now;
    render();
    settle(true);
  }

  /** Writes selection and taste into the address when they have rested, and tells the host a selection. */
  function settle(selected = false) {
    news ||= selected;
    spoken &&= !selected;
    clearTimeout(settled);
    settled = setTimeout(() => {
      if (board) address?.write(app.link());
      if (!news) return;
      news = false;
      if (!spoken) live.textContent = board ? board.sentence() : "";
      onSelect?.({ ...app.selection });
    }, SETTLED_MS);
  }

  /** Says what is pointed at; the sentence about a selection made before does not follow any more. */
  function readAloud() {
    live.textContent = board.stage.reading();
    spoken = true;
  }

  function render() {
    if (!app.source || !board) return;
    const missed = app.course.missed();
    if (missed) { // it belongs to the step that is open, and is nothing to undo
      app.selection = validSelection(missed, app.selection, app.shape());
      app.history = { ...app.history, now: app.selection };
    }
    root.classList.toggle("vv-smooth", app.taste.smooth);
    root.classList.toggle("vv-projector", app.taste.projector);
    const { selection, source } = app;
    source.store.look(selection.layer);
    app.second = second.follow();
    if (!opening) setState(source.failure ? "error" : "ready");
    let view = null;
    guardFocus(content, () => { view = board.render(); }, board.stage.focus);
    const { shown, token } = view;
    Object.assign(element.dataset, {
      token, layer: selection.layer, head: selection.head, direction: selection.direction,
      panel: selection.panel, overlay: selection.overlay, pinned: selection.pinned,
      lesson: selection.lesson, step: selection.step,
      beside: app.second.error ? "error" : app.second.app && !app.second.coming ? selection.beside : selection.beside && "loading",
    });
    if (shown.missing === "layer" || app.panel().needs === "layer") source.store.want(() => source === app.source && render());
  }

  function fail(error, retry) {
    const { key, reason } = explainFailure(error);
    setState("error");
    const gone = key === "error_expired";
    showMessage({ key, values: { reason }, ...(gone ? { retry: again, label: "runAgain" } : { retry }) });
  }

  function showMessage(wanted) {
    const { key, values = {}, retry = null, label = "tryAgain" } = wanted;
    message = wanted;
    board?.destroy();
    board = null;
    const name = app.t(label);
    const again = retry && button({ text: name, title: name, onClick: retry });
    const box = el("div", { class: "vv-message", role: "status", tabindex: "-1" },
      el("p", { text: app.t(key, values) }), again);
    const focusAgain = keepFocus(content);
    content.replaceChildren(box);
    focusAgain(again ?? box);
  }

  function onKey(event) {
    // A dialog has the keyboard to itself: Escape closes it and unpins nothing behind it.
    if (!board || root.querySelector("dialog[open]")) return;
    if (event.target.matches("input[type=number], textarea")) return; // its keys write
    const onStage = event.target === board.stage.focus;
    if (onStage && app.course.takes() && event.key.startsWith("Arrow")) {
      event.preventDefault();
      app.point(neighbour(app.pointed ?? app.shownToken(), event.key, app.source.grid), false);
      readAloud();
      return;
    }
    const moved = app.picksPartner() ? { ...app.selection, token: app.shownPartner() } : app.selection;
    const action = keyAction(event, moved, app.shape(), onStage, app.pointed);
    if (!action) return;
    const tool = TOOLS.includes(action.command);
    if (tool && !app.taste.projector) return;
    event.preventDefault();
    if (tool) board.projecting.toggle(action.command);
    else if (action.point !== undefined) {
      app.point(action.point, false);
      readAloud();
    } else if (action.select) {
      app.previewed = null;
      if (action.select.token !== undefined) app.pointed = null;
      if (action.select.token === undefined) app.select(action.select);
      else app.choose(action.select.token);
    } else if (action.command === "undo") app.undo();
    else if (action.command === "redo") app.redo();
    else if (action.command === "help") board.help.showModal();
    else if (action.command === "release") app.release();
    else if (app.bench.paints()) app.bench.stroke([app.shownToken() - app.source.grid.prefix].filter((patch) => patch >= 0));
    else if (app.course.takes()) app.course.take(app.pointed ?? app.shownToken());
    else app.pin(app.picksPartner() ? app.shownPartner() : app.shownToken());
  }

  function dress({ theme, size }) {
    root.dataset.theme = theme;
    root.dataset.size = size;
    board?.arrange(size);
  }

  function setState(state) {
    element.dataset.state = state;
    root.setAttribute("aria-busy", String(state === "loading"));
  }

  function close() {
    walk?.stop();
    second.close();
    app.source?.dispose();
    app.source = null;
    board?.destroy();
    board = null;
  }

  function destroy() {
    opening?.dispose();
    opening = null;
    close();
    clearTimeout(settled);
    surroundings.stop();
    root.remove();
  }
}
