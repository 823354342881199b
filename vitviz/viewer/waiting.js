/** What is on its way or lost, in a line, with a button for another try. */

import { explainFailure } from "./analysis.js";
import { el, setText, show } from "./dom.js";

/**
 * @param {import("./main.js").App} app
 * @param {string} line  its class
 * @param {string} button  that of its button
 * @returns {{root: HTMLElement, render: (text: string, failed: boolean) => void}}
 *   failed: whether it can be tried again from here
 */
export function createWaiting(app, line = "vv-note", button = "vv-button") {
  const { t } = app;
  const message = el("span");
  const again = el("button", { type: "button", class: button,
    onclick: (event) => { event.stopPropagation(); app.retryLayer(); } });
  const root = el("div", { class: line, role: "status" }, message, again);
  return {
    root,
    render(text, failed) {
      setText(message, text);
      show(root, text !== "");
      show(again, failed && (!app.expired() || app.again !== null));
      setText(again, t(failed && app.expired() ? "runAgain" : "tryAgain"));
    },
  };
}

/** Where the layer that is looked at has got to: on its way, or lost. */
export function layerText({ t, selection, failure }) {
  if (!failure) return t("layerLoading", { layer: selection.layer });
  if (failure.key === "error_expired") return t("error_expired");
  return t("error_layer", { layer: selection.layer, reason: failure.reason });
}

/** Where the tokens of the layer that is looked at have got to. */
export function tokensText({ t, selection, features }) {
  if (!features.error) return t("tokensLoading", { layer: selection.layer });
  const { key, reason } = explainFailure(features.error);
  return t(key, { reason });
}
