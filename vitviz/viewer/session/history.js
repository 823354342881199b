/** History: writes the selection to the address, the host and the screen reader once it has rested. */

import { isDrawn } from "../state/photos.js";

/**
 * An entry of the browser's history: the selection and what an address cannot name.
 * @typedef {{link: any, photo: string, chosen: boolean, with: number|null,
 *   selection: import("../state/state.js").Selection}} Entry
 *   chosen: whether a visitor has chosen where to look
 */

/** A selection is written when it has stayed the same this long. */
const SETTLED_MS = 250;
/** Time for an analysis that the visitor goes back to; nothing is written meanwhile. */
const PATIENCE_MS = 20_000;

/**
 * @param {import("../main.js").App} app
 * @param {import("../shell/screen.js").Screen} screen
 * @param {import("../types.js").Host} host
 * @param {import("../state/photos.js").PhotoStore} photos
 */
export function createHistory(app, screen, { onSelect = null, address = null }, photos) {
  const { live } = screen;
  let written = ""; // identity of the entry that was written last
  let writes = false; // whether anything has changed since
  let timer = 0;
  let news = false; // whether the selection has changed since the host was told
  let spoken = false; // whether a token was read aloud since the selection changed
  let heldUntil = 0;
  const held = () => performance.now() < heldUntil;
  return {
    record,
    stay,
    held,
    originOf,
    /** Whether an entry is about a photo that this page does not have any more. @param {Entry|null} [entry] */
    isForgotten: (entry) => Boolean(entry?.photo) && !photos.find(entry.photo),
    /**
     * Overwrites the present entry, whose own analysis cannot come back, with the shown one. Back leads past
     * it.
     */
    replace() {
      [heldUntil, written] = [0, ""];
      record();
    },
    /** Writes nothing before what the address is about is shown; it can be refused, too. */
    hold() {
      heldUntil = performance.now() + PATIENCE_MS;
    },
    /** Gives up waiting: the analysis of the address will not be shown. */
    release() {
      heldUntil = 0;
    },
    /** Writes selection and taste into the address when they have rested, and tells the host a selection. */
    settle(selected = false) {
      news ||= selected;
      writes = true;
      spoken &&= !selected;
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (screen.board && writes) record();
        if (!news) return;
        news = false;
        if (!spoken) live.textContent = screen.board ? screen.board.sentence() : "";
        onSelect?.({ ...app.selection });
      }, SETTLED_MS);
    },
    /** Says what is pointed at; the sentence about a selection made before does not follow any more. */
    readAloud() {
      live.textContent = screen.board.stage.reading();
      spoken = true;
    },
    stop: () => clearTimeout(timer),
  };

  /**
   * The address is that of what is shown. Another panel, picture or model is an entry of its own, from which
   * Back leads here.
   */
  function record() {
    if (held()) return;
    const now = identity();
    address?.write(app.page.link(), viewOf(), written !== "" && now !== written);
    written = now;
  }

  /** Keeps the address as it is, but for the language: the shown analysis belongs to it. */
  function stay() {
    [heldUntil, writes] = [0, false];
    written = identity();
    if (!address?.view) return;
    const url = new URL(address.read());
    if (url.searchParams.has("lang")) url.searchParams.set("lang", app.language);
    address.write(url.href, viewOf(), false);
  }

  /** @returns {Entry} */
  function viewOf() {
    const { source, selection, pointer, hasChosen } = app;
    return { ...originOf(source.manifest), chosen: hasChosen(), with: pointer.compared, selection };
  }

  /**
   * What makes an analysis again: model and example, and the id of a photo.
   * @param {import("../types.js").Manifest} manifest
   */
  function originOf(manifest) {
    return { link: manifest.link ?? {}, photo: photos.idOf(manifest) };
  }

  /** Identity of a history entry. Successive drawings share one. */
  function identity() {
    const { manifest } = app.source;
    const { panel, lesson } = app.selection;
    const { link, photo } = originOf(manifest);
    return JSON.stringify([panel, lesson, link, isDrawn(manifest.photo.name) ? "" : photo]);
  }
}
