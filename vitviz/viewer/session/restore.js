/**
 * Restore: a reload, Back and Forward bring the selection back, and an analysis that has expired is made
 * again.
 */

import { isOnHost } from "../text/refusal.js";

/** An expired analysis is made again by itself, at most once in this time. */
const RENEWED_MS = 60_000;

/** @typedef {ReturnType<typeof createRestore>} Restore */

/**
 * @param {import("../main.js").App} app
 * @param {{board: any}} screen  board: null while nothing is shown, or a message
 * @param {import("../types.js").Address|null} address
 * @param {ReturnType<typeof import("./history.js").createHistory>} history
 * @param {null|(() => void)} reopen  asks the host for what the address is about
 */
export function createRestore(app, screen, address, history, reopen) {
  // what is shown comes anew: the page was reloaded, or the analysis has expired
  let renewed = Boolean(address?.view?.());
  let renewedAt = -Infinity;
  address?.follow?.(back);
  return {
    /**
     * The history entry of an analysis that comes; null where the visitor does not come back to it.
     * @param {import("../types.js").Manifest} manifest
     */
    entry: (manifest) => (renewed || history.held() ? entryOf(manifest) : null),
    /** Whether the analysis that is shown comes anew. */
    renewed: () => renewed,
    /**
     * Updates the address for an analysis that is shown now. The link or entry that led to it stays until
     * something changes; any other analysis gets a new address. While the analysis of another entry is
     * awaited, a late one writes nothing, except where the photo of that entry is forgotten: the entry then
     * gets the analysis that the host has in its place.
     * @param {boolean} stays  whether a link or an entry led to the analysis
     */
    shown(stays) {
      if (stays) history.stay();
      else if (history.held() && history.isForgotten(address?.view?.())) history.replace();
      else history.record();
      renewed = false;
    },
    /** Expects the shown analysis again, with the present selection. */
    expect() {
      if (app.source) history.stay();
      renewed = true;
    },
    /** Makes an analysis again that the host has forgotten; not in turn one that it forgets at once. */
    renew() {
      const isAgain = performance.now() - renewedAt < RENEWED_MS;
      // The host would show something else in place of a model that has learned in this page.
      if (!app.page.again || isAgain || (app.source && !isOnHost(app.source.manifest.model))) return;
      renewedAt = performance.now();
      this.expect();
      app.page.again();
    },
  };

  /**
   * The present history entry; null if it is about another analysis.
   * @returns {import("./history.js").Entry|null}
   */
  function entryOf(manifest) {
    const entry = address?.view?.();
    const of = history.originOf(manifest);
    return entry &&
      ["link", "photo"].every((part) => JSON.stringify(entry[part]) === JSON.stringify(of[part]))
      ? entry
      : null;
  }

  /** Back or Forward was pressed. */
  function back() {
    if (!address.view()) return;
    if (!app.source) {
      // The analysis that is loading would overwrite this entry, so the page is loaded again; not while a
      // dialog is open, because that would end a run of the playground.
      if (!document.querySelector("dialog[open]")) location.reload();
      return;
    }
    const entry = history.held() || !screen.board ? null : entryOf(app.source.manifest);
    if (entry) {
      app.pointer.compared = entry.with ?? null;
      app.select(entry.selection);
      history.stay();
      return;
    }
    history.hold();
    reopen?.();
  }
}
