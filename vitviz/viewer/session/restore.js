/**
 * Restore: a reload, Back and Forward bring the selection back, and an analysis that has expired is made
 * again.
 */

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
     * An analysis is shown. The link that opened the page stays until something changes; another picture
     * needs a new one. What comes late, when the visitor has gone on to another entry, needs none. Where the visitor
     * went back to a photo that is forgotten, it is what the host has in its place.
     * @param {boolean} stays
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
      if (!app.page.again || performance.now() - renewedAt < RENEWED_MS) return;
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
      // What is coming would take the place of this entry. A run of the playground would be lost by it.
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
