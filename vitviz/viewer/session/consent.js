/**
 * Consent: whether a photo may be sent to the host, for what only the host can do. The answer is part of the
 * photo (state/photos.js), so it holds for all panels, and can be changed. A photo whose file only the host can
 * open is asked about before it is shown, over the picture before it.
 */

import { LEARNED_HERE, isOnHost, refusal } from "../text/refusal.js";

/**
 * @typedef {ReturnType<typeof createConsent>} Consent
 * @typedef {import("../state/photos.js").OwnPhoto} OwnPhoto
 */

/**
 * @param {import("../main.js").App} app
 * @param {import("../types.js").Host} host
 * @param {import("../state/photos.js").PhotoStore} photos
 * @param {{share: (photo: OwnPhoto|null) => Promise<any>, render: () => void}} on
 *   share: sends a photo
 */
export function createConsent(app, host, photos, { share, render }) {
  const panels = new Set(); // those that need the host for the photo that is shown
  let sending = false;
  let unopened = /** @type {OwnPhoto|null} */ (null);
  let about = /** @type {OwnPhoto|null} */ (null); // another one can be on its way to the board meanwhile
  let isChosen = false; // the question is about a choice for the whole page, not about a panel
  return {
    /** Whether the selected panel needs it, a model that was chosen, or a photo that only the host can open. */
    isAsked: () => unopened !== null || isChosen || panels.has(app.selection.panel),
    /** The photo that only the host can open; null: the question is about another one. */
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
      sending = isChosen = false;
      unopened = about = null;
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
    return unopened ?? about;
  }

  function isRefused() {
    return photo()?.consent === "no";
  }

  /** Asks for what the visitor has just chosen, also after a no to something else. @param {OwnPhoto} photo */
  function ask(photo) {
    about = photo;
    isChosen = true;
    if (photo.consent === "no") photo.consent = "unasked";
    mark();
  }

  /** @param {OwnPhoto} photo */
  function askToOpen(photo) {
    unopened = photo;
    render();
  }

  /**
   * Asks about the shown photo unless the visitor has said no, and throws a refusal until it may be sent. A model
   * that has learned in this page is on no host, so nothing is asked; nor about another photo that stands beside,
   * because a photo that is sent is shown.
   * @param {string[]} [ids]  of the analyses that the host needs; default: the shown one
   * @returns {never}
   */
  function require(ids) {
    const shown = app.source?.manifest;
    if (shown && !isOnHost(shown.model)) throw refusal(LEARNED_HERE);
    if (!host.share) throw refusal("error_no_host");
    const address = shown?.upload?.address;
    const shows = ({ manifest }) => manifest.upload?.address === address && ids?.includes(manifest.pass.id);
    if (ids && ![app.source, app.second?.app?.source].some((source) => source && shows(source)))
      throw refusal("photoKept");
    const before = about;
    about = photos.shown?.id === address ? photos.shown : photos.find(address);
    isChosen &&= about === before;
    mark();
    throw refusal(isRefused() ? "photoKept" : "needsServer");
  }

  /** The visitor says no. A photo that only the host can open is forgotten. */
  function refuse() {
    if (unopened) unopened = null;
    else if (about) {
      about.consent = "no";
      isChosen = false;
      host.refused?.(about);
    }
    render();
  }

  function mark() {
    panels.add(app.selection.panel);
    render();
  }
}
