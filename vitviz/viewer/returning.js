/**
 * Returning: a reload, Back and Forward bring back what was looked at, and an analysis that the host has
 * forgotten is made again.
 */

import { originOf } from "./telling.js";

/** An expired analysis is made again by itself, at most once in this time. */
const RENEWED_MS = 60_000;

/** @typedef {ReturnType<typeof createReturning>} Returning */

/**
 * @param {import("./main.js").App} app
 * @param {import("./types.js").Address|null} address
 * @param {ReturnType<typeof import("./telling.js").createTelling>} telling
 * @param {null|(() => void)} reopen  asks the host for what the address is about
 */
export function createReturning(app, address, telling, reopen) {
  // what is shown comes anew: the page was reloaded, or the analysis has expired
  let renewed = Boolean(address?.view?.());
  let renewedAt = -Infinity;
  address?.follow?.(back);
  return {
    /**
     * The history entry of an analysis that arrives; null unless the visitor comes back to it.
     * @param {import("./types.js").Manifest} manifest
     */
    told: (manifest) => (renewed || telling.held() ? toldOf(manifest) : null),
    /** Whether the analysis that is shown comes anew. */
    renewed: () => renewed,
    /**
     * An analysis is shown. The link that opened the page stays until something changes; another picture
     * needs a new one. What comes late, when the visitor has gone on to another entry, needs none.
     * @param {boolean} stays
     */
    shown(stays) {
      if (stays) telling.stay();
      else telling.record();
      renewed = false;
    },
    /** Expects the shown analysis again, with the present selection. */
    expect() {
      if (app.source) telling.stay();
      renewed = true;
    },
    /** Makes an analysis again that the host has forgotten; not in turn one that it forgets at once. */
    renew() {
      if (!app.again || performance.now() - renewedAt < RENEWED_MS) return;
      renewedAt = performance.now();
      this.expect();
      app.again();
    },
  };

  /**
   * The present history entry; null if it is about another analysis.
   * @returns {import("./telling.js").Told|null}
   */
  function toldOf(manifest) {
    const told = address?.view?.();
    const of = originOf(manifest);
    return told && ["link", "photo"].every((part) => JSON.stringify(told[part]) === JSON.stringify(of[part]))
      ? told
      : null;
  }

  /** Back or Forward was pressed. */
  function back() {
    if (!app.source || !address.view()) return;
    const told = telling.held() ? null : toldOf(app.source.manifest);
    if (told) {
      app.select(told.selection);
      telling.stay();
      return;
    }
    telling.hold();
    reopen?.();
  }
}
