/** Opening: an analysis arrives, is shown in place of the one before, or fails. */

import { explainFailure } from "../data/files.js";
import { Source } from "../data/source.js";
import { stateOf, stepAt } from "../lessons/steps.js";
import { startWalk } from "../parts/walk.js";
import { beginsWithPhotograph } from "../stage/picture.js";
import { arriving, hasChosen } from "../state/newphoto.js";
import { lacksPhoto, unknownNames } from "../state/link.js";
import { overlayNamed } from "../state/overlays.js";
import { complete, startHistory, validSelection } from "../state/state.js";

/**
 * @param {import("../main.js").App} app
 * @param {import("../shell/screen.js").Screen} screen
 * @param {(file: any, signal: AbortSignal) => Promise<ArrayBuffer>} fetchFile
 * @param {import("../types.js").Address|null} address
 * @param {any} link  fields in the link that opened the page; null without an address
 * @param {{shown: (manifest: import("../types.js").Manifest) => void, gone: () => void, render: () => void}} on
 *   shown: another analysis is the first one; gone: there is none any more
 * @param {import("./restore.js").Restore} restore
 */
export function createOpening(app, screen, fetchFile, address, link, on, restore) {
  let coming = null; // the source that is loading
  let seen = null; // what was shown last
  let walk = null; // over a few tokens, at the start
  let asked = link; // until the first analysis is shown
  window.addEventListener("online", fetchAgain);
  return {
    update,
    /** Whether the visitor has chosen where to look. */
    hasChosen: () => hasChosen(app.selection, seen.began, app.shape()),
    loading: () => coming !== null,
    destroy() {
      window.removeEventListener("online", fetchAgain);
      stop();
      close();
    },
  };

  /**
   * Shows another analysis (null: none; awaited: one comes by itself). The one shown before stays until the
   * new one is here.
   */
  function update(manifest, wanted = null, awaited = false) {
    stop();
    if (!manifest?.files) {
      close();
      screen.setState(awaited ? "loading" : "empty");
      screen.showMessage({ key: awaited ? "loading" : "empty" });
      return;
    }
    screen.setState("loading");
    if (!screen.board) screen.showMessage({ key: "loading" });
    open(manifest, wanted);
  }

  async function open(manifest, wanted) {
    let source = null;
    let begun = null;
    try {
      source = new Source(manifest, fetchFile, app.backend, () => source === app.source && on.render());
      coming = source;
      begun = begin(source, wanted);
      const { selection, step } = begun;
      // A step can begin with the strongest partner, which nobody knows before the layer is here.
      const ahead =
        (!overlayNamed(selection.overlay).ahead || source.showsAhead(selection)) &&
        step?.state?.partner !== "strongest";
      await Promise.all([
        source.loaded(beginsWithPhotograph(app, selection)),
        ahead ? null : source.store.ensure(selection.layer),
      ]);
    } catch (error) {
      if (source && (source !== coming || source.disposed)) return;
      source?.dispose();
      coming = null;
      fail(error, () => update(manifest, wanted));
      return;
    }
    if (source !== coming) return;
    coming = null;
    show(source, begun);
    if (begun.walked)
      walk = startWalk(
        begun.walked.filter((token) => token < source.grid.tokens),
        app.pointer.preview,
        screen.root,
      );
  }

  /**
   * The selection for an analysis that arrives: from the host, the link, the lesson, and the former
   * selection.
   */
  function begin(source, wanted) {
    const shape = app.shape(source);
    const entry = restore.entry(source.manifest);
    const link =
      wanted ?? (entry ? { ...entry.selection, with: entry.with } : (chosenByPage(source.manifest) ?? asked));
    const { stays, anew, next } = arriving(app.selection, seen, source, link, shape, entry);
    const named = validSelection(complete(link, stays, shape), stays, shape);
    const step = stepAt(
      shape.lessons.find(({ id }) => id === named.lesson),
      named.step,
    );
    const selection = step ? validSelection(stateOf(step, source, shape), named, shape) : named;
    return { selection, step, anew, next, entry, link, walked: anew && !seen && source.manifest.start?.walk };
  }

  function show(source, { selection, anew, next, entry, link }) {
    walk?.stop();
    app.source?.dispose();
    app.pointer.forget();
    app.bench.arrive();
    seen = next(selection);
    on.shown(source.manifest);
    const opened = asked && address && source.manifest.link;
    app.page.unknown = opened ? unknownNames(address.read(), opened, app.panels) : [];
    app.page.lacksPhoto = Boolean(opened) && lacksPhoto(address.read(), opened);
    Object.assign(app, { source, selection });
    if (selection.lesson) app.selection = validSelection(app.course.arrival(), selection, app.shape());
    // The steps of an analysis that was made again can still be taken back.
    app.history =
      entry && restore.renewed() && app.history
        ? { ...app.history, now: app.selection }
        : startHistory(app.selection);
    if (asked && app.teaching.shelf.refused()) app.teaching.openLessons(); // it says why
    if (asked?.lesson && namesNothing() && !app.course.atHome() && app.course.home()) return;
    if (selection.pinned && Number.isInteger(link?.with) && link.with < source.grid.tokens)
      app.pointer.compared = link.with;
    screen.showBoard();
    screen.board.root.classList.toggle("vv-anew", anew);
    // a lesson may ask for the answer
    screen.live.textContent = app.course.lesson() ? "" : screen.board.title();
    restore.shown(Boolean(asked || entry));
    asked = null;
    // Paint first; then the other layers, one after another.
    setTimeout(() => fetchAhead(source), 0);
  }

  function fetchAhead(source) {
    if (source !== app.source) return;
    source.store.prefetch(app.selection.layer, () => {
      if (source !== app.source) return;
      source.positions.get(); // small beside a layer, and shown by its own panel at once then
      on.render();
    });
  }

  /** The network is back: what it has lost of the shown analysis comes now. */
  function fetchAgain() {
    if (!app.source) return;
    app.source.retry();
    fetchAhead(app.source);
    if (app.second?.error) app.second.retry();
  }

  /**
   * The first selection of an app or a site whose address names nothing to look at: the first look. Null
   * otherwise, as for a page of one file: its maker chose the analysis, and knows the panels.
   */
  function chosenByPage({ link: found }) {
    const { all, projector } = app.taste;
    const names = Object.keys(asked ?? {});
    if (!asked || !found || names.length > 0 || all || projector) return null;
    return { panel: app.panels.find(({ plain }) => plain).id };
  }

  /** Whether the address leaves model and picture to the page. */
  function namesNothing() {
    const { searchParams } = new URL(address.read());
    return !searchParams.has("model") && !searchParams.has("example");
  }

  function fail(error, retry) {
    const { key, reason } = explainFailure(error);
    screen.setState("error");
    const gone = key === "error_expired";
    if (gone) restore.renew();
    screen.showMessage({
      key,
      values: { reason },
      ...(gone ? { retry: app.page.again, label: "runAgain" } : { retry }),
    });
  }

  function stop() {
    coming?.dispose();
    coming = null;
  }

  function close() {
    walk?.stop();
    on.gone();
    app.source?.dispose();
    app.source = null;
    screen.clear();
  }
}
