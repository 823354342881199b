/** What is on its way or lost, in a line, with a button for another try. */

import { explainFailure } from "../data/files.js";
import { el, setText, show } from "./dom.js";

/**
 * @param {import("../main.js").App} app
 * @param {string} line  its class
 * @param {string} button  that of its button
 * @param {import("../data/lazyfile.js").LazyFile|null} file  what is waited for, by default a layer
 * @returns {{root: HTMLElement, render: (text: string, failed: boolean) => void}}
 *   failed: whether it can be tried again from here
 */
export function createWaiting(app, line = "vv-note", button = "vv-button", file = null) {
  const { t } = app;
  const gone = () => (file ? file.error !== null && explainFailure(file.error).key === "error_expired" : app.source.expired());
  const message = el("span");
  const again = el("button", { type: "button", class: button,
    onclick: (event) => { event.stopPropagation(); retry(); } });
  const root = el("div", { class: line, role: "status" }, message, again);
  return {
    root,
    render(text, failed) {
      setText(message, text);
      show(root, text !== "");
      show(again, failed && (!gone() || app.again !== null));
      setText(again, t(failed && gone() ? "runAgain" : "tryAgain"));
    },
  };

  /** What the host has deleted comes back with another analysis only. */
  function retry() {
    if (gone()) app.again?.();
    else if (file) file.retry();
    else app.source.retry();
  }
}

/** What has become of a file that is lost. */
export function lostText(t, error, otherwise = "") {
  const { key, reason } = explainFailure(error);
  return t(key === "error_expired" ? key : otherwise || key, { reason });
}

/** Where the layer that is looked at has got to: on its way, or lost. */
export function layerText({ t, selection, source: { failure } }) {
  if (!failure) return t("layerLoading", { layer: selection.layer });
  if (failure.key === "error_expired") return t("error_expired");
  return t("error_layer", { layer: selection.layer, reason: failure.reason });
}

/** Where the tokens of the layer that is looked at have got to. */
export function tokensText({ t, selection, source: { features } }) {
  if (!features.error) return t("tokensLoading", { layer: selection.layer });
  return lostText(t, features.error);
}
