/**
 * Consent: whether a photo may be sent to the host, for what only the host can do. The answer is part of the
 * photo (state/photos.js), so it holds for all panels, and can be changed. A photo whose file only the host can
 * open is asked about before it is shown, over the picture before it.
 */

import { LEARNED_HERE, isOnHost, refusal } from "../text/refusal.js";

/** @typedef {ReturnType<typeof createConsent>} Consent */

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param {import("../state/photos.js").PhotoStore} photos
 * @param {{share: (photo: import("../state/photos.js").OwnPhoto|null) => Promise<any>, render: () => void}} on
 *   share: sends a photo
 */
export function createConsent(app, host, photos, { share, render }) {
  const panels = new Set(); // those that need the host for the photo that is shown
  let sending = false;
  let unopened = /** @type {import("../state/photos.js").OwnPhoto|null} */ (null);
  return {
    /** Whether the selected panel needs it, or a photo that only the host can open. */
    isAsked: () => unopened !== null || panels.has(app.selection.panel),
    /** The photo that only the host can open; null: the question is about the one that is shown. */
    unopened: () => unopened,
    /** The photo that the question is about. */
    photo,
    isRefused,
    /** Whether the photo is on its way to the host. */
    isSending: () => sending,
    ask,
    askToOpen,
    require,
    refuse,
    send,
    /** The host has answered, or refused. */
    over() {
      sending = false;
    },
    /** Another analysis is shown. */
    forget() {
      sending = false;
      unopened = null;
      panels.clear();
    },
  };

  async function send() {
    sending = true;
    render();
    try {
      await share(photo());
    } catch (error) {
      sending = false;
      throw error;
    }
  }

  function photo() {
    return unopened ?? photos.shown ?? photos.find(app.source?.manifest.upload?.address);
  }

  function isRefused() {
    return photo()?.consent === "no";
  }

  /** Asks for what the visitor has just chosen, also after a no to something else. */
  function ask() {
    const shown = photo();
    if (shown?.consent === "no") shown.consent = "unasked";
    mark();
  }

  /** @param {import("../state/photos.js").OwnPhoto} photo */
  function askToOpen(photo) {
    unopened = photo;
    render();
  }

  /**
   * Asks unless the visitor has said no, and throws a refusal until the photo may be sent. A model that has learned
   * in this page is on no host, so nothing is asked.
   * @returns {never}
   */
  function require() {
    if (app.source && !isOnHost(app.source.manifest.model)) throw refusal(LEARNED_HERE);
    mark();
    throw refusal(isRefused() ? "photoKept" : "needsServer");
  }

  /** The visitor says no. A photo that only the host can open is forgotten. */
  function refuse() {
    const shown = photo();
    if (unopened) unopened = null;
    else {
      if (shown) shown.consent = "no";
      host.refused?.();
    }
    render();
  }

  function mark() {
    if (host.share) panels.add(app.selection.panel);
    render();
  }
}
