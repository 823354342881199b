/** A line about a file that is loading or has failed, with a button to try again. */

import { explainFailure } from "../data/files.js";
import { languageOf } from "../text/language.js";
import { el, setText, show } from "./dom.js";

/**
 * @param {import("../main.js").App} app
 * @param {string} line  class of the line
 * @param {string} button  class of the button
 * @param {null|(() => import("../data/lazyfile.js").LazyFile)} fileOf  the file, by default that of a layer
 * @returns {{root: HTMLElement, render: (text: string, failed: boolean) => void}}
 *   failed: whether the button is shown
 */
export function createWaiting(app, line = "vv-note", button = "vv-button", fileOf = null) {
  const { t } = app;
  const fails = (key) => Boolean(fileOf?.().error) && explainFailure(fileOf().error).key === key;
  const gone = () => (fileOf ? fails("error_expired") : app.source.expired());
  const message = el("span");
  const again = el("button", {
    type: "button",
    class: button,
    onclick: (event) => {
      event.stopPropagation();
      retry();
    },
  });
  const root = el("div", { class: line, role: "status" }, message, again);
  return {
    root,
    render(text, failed) {
      setText(message, text);
      show(root, text !== "");
      show(again, failed && !fails("error_no_host") && (!gone() || app.page.again !== null));
      setText(again, t(failed && gone() ? "runAgain" : "tryAgain"));
    },
  };

  /** Files that the host has deleted come back only with a new analysis. */
  function retry() {
    if (gone()) app.page.again?.();
    else (fileOf ? fileOf() : app.source).retry();
  }
}

/**
 * A line about one file, which is fetched when it is first needed.
 * @template T
 * @param {import("../main.js").App} app
 * @param {() => import("../data/lazyfile.js").LazyFile<T>} fileOf
 * @param {string} loading  key of what is said while it comes
 * @param {{none?: string, lost?: string, line?: string}} of  keys of what is said where the analysis has no
 *   such file, and where it is lost; class of the line
 * @returns {{root: HTMLElement, get: () => T|null}}  get: what is in it, once it is here
 */
export function createFileWaiting(app, fileOf, loading, { none = "", lost = "", line } = {}) {
  const { t } = app;
  const { root, render } = createWaiting(app, line, "vv-button", fileOf);
  return {
    root,
    get() {
      const found = fileOf().get();
      const { exists, error } = fileOf();
      render(
        found ? "" : !exists ? none && t(none) : error ? lostText(app, error, lost) : t(loading),
        !found && error !== null,
      );
      return found;
    },
  };
}

/**
 * A view of one file: the line about its loading, and the view made of the file once it is here.
 * @template T
 * @template {{root: HTMLElement, render: (...shown: any[]) => void}} View
 * @param {import("../main.js").App} app
 * @param {HTMLElement} root
 * @param {() => import("../data/lazyfile.js").LazyFile<T>} fileOf
 * @param {string} loading
 * @param {(found: T) => View} create
 * @param {Parameters<typeof createFileWaiting>[3]} [of]
 * @returns {{root: HTMLElement, view: () => View|null, render: (...shown: any[]) => void}}  view: what is
 *   made, null before that
 */
export function createFileView(app, root, fileOf, loading, create, of) {
  const waiting = createFileWaiting(app, fileOf, loading, of);
  root.append(waiting.root);
  let view = /** @type {View|null} */ (null);
  return {
    root,
    view: () => view,
    render(...shown) {
      const found = waiting.get();
      if (found && !view) {
        view = create(found);
        root.append(view.root);
      }
      view?.render(...shown);
    },
  };
}

/** The sentence about a file that could not be fetched. */
function lostText(app, error, otherwise = "") {
  const failure = explainFailure(error);
  const { key } = failure;
  const own = key === "error_expired" || key === "error_no_host";
  return app.t(own ? key : otherwise || key, { reason: reasonText(app, failure) });
}

/**
 * The reason of a failure, in the language of the page: what a browser says of its network is English.
 * @param {{t: (key: string) => string, language: string}} app
 * @param {import("../data/files.js").Failure} failure
 */
export function reasonText({ t, language }, { key, reason, reasons }) {
  return reasons?.[languageOf(language)] ?? (key === "error_network" ? t("noReply") : reason);
}

/** The sentence about the selected layer: it is loading, or has failed. */
export function layerText(app) {
  const {
    t,
    selection: { layer },
    source: { failure },
  } = app;
  if (!failure) return t("layerLoading", { layer });
  if (failure.key === "error_expired") return t("error_expired");
  return t("error_layer", { layer, reason: reasonText(app, failure) });
}

/** The sentence about the position embedding: it is loading, or has failed. */
export function positionsText(app) {
  const { positions, inside } = app.source;
  const { error } = positions.exists ? positions : inside;
  return error ? lostText(app, error) : app.t("positionsLoading");
}

/** The sentence about the tokens of the selected layer: they are loading, or have failed. */
export function tokensText(app) {
  const { features } = app.source;
  if (!features.error) return app.t("tokensLoading", { layer: app.selection.layer });
  return lostText(app, features.error);
}
