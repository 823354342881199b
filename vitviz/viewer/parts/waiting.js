/** A line about a file that is loading or has failed, with a button to try again. */

import { explainFailure } from "../data/files.js";
import { el, setText, show } from "./dom.js";

/**
 * @param {import("../main.js").App} app
 * @param {string} line  class of the line
 * @param {string} button  class of the button
 * @param {import("../data/lazyfile.js").LazyFile|null} file  the file, by default that of a layer
 * @returns {{root: HTMLElement, render: (text: string, failed: boolean) => void}}
 *   failed: whether the button is shown
 */
export function createWaiting(app, line = "vv-note", button = "vv-button", file = null) {
  const { t } = app;
  const gone = () => (file ? file.error !== null && explainFailure(file.error).key === "error_expired" : app.source.expired());
  const absent = () => file?.error && explainFailure(file.error).key === "error_no_host";
  const message = el("span");
  const again = el("button", { type: "button", class: button,
    onclick: (event) => { event.stopPropagation(); retry(); } });
  const root = el("div", { class: line, role: "status" }, message, again);
  return {
    root,
    render(text, failed) {
      setText(message, text);
      show(root, text !== "");
      show(again, failed && !absent() && (!gone() || app.again !== null));
      setText(again, t(failed && gone() ? "runAgain" : "tryAgain"));
    },
  };

  /** Files that the host has deleted come back only with a new analysis. */
  function retry() {
    if (gone()) app.again?.();
    else if (file) file.retry();
    else app.source.retry();
  }
}

/** The sentence about a file that could not be fetched. */
export function lostText(t, error, otherwise = "") {
  const { key, reason } = explainFailure(error);
  return t(["error_expired", "error_no_host"].includes(key) ? key : otherwise || key, { reason });
}

/** The sentence about the selected layer: it is loading, or has failed. */
export function layerText({ t, selection, source: { failure } }) {
  if (!failure) return t("layerLoading", { layer: selection.layer });
  if (failure.key === "error_expired") return t("error_expired");
  return t("error_layer", { layer: selection.layer, reason: failure.reason });
}

/** The sentence about the position embedding: it is loading, or has failed. */
export function positionsText({ t, source: { positions, inside } }) {
  const { error } = positions.exists ? positions : inside;
  return error ? lostText(t, error) : t("positionsLoading");
}

/** The sentence about the tokens of the selected layer: they are loading, or have failed. */
export function tokensText({ t, selection, source: { features } }) {
  if (!features.error) return t("tokensLoading", { layer: selection.layer });
  return lostText(t, features.error);
}
