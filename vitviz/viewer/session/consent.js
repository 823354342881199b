/**
 * Consent: whether the photo that is shown may be sent to the host, for what only the host can do. The answer
 * is part of the photo (state/photos.js), so it holds for all panels, and can be changed.
 */

import { refusal } from "../text/refusal.js";

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
  return {
    /** Whether the selected panel needs it. */
    isAsked: () => panels.has(app.selection.panel),
    isRefused,
    /** Whether the photo is on its way to the host. */
    isSending: () => sending,
    ask,
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
    return photos.shown ?? photos.find(app.source?.manifest.upload?.address);
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

  /** Asks unless the visitor has said no, and throws a refusal until the photo may be sent. @returns {never} */
  function require() {
    mark();
    throw refusal(isRefused() ? "photoKept" : "needsServer");
  }

  /** The visitor says no. */
  function refuse() {
    const shown = photo();
    if (shown) shown.consent = "no";
    host.refused?.();
    render();
  }

  function mark() {
    if (host.share) panels.add(app.selection.panel);
    render();
  }
}
