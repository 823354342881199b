/** Consent: what only the host can do is asked for before a photo is sent that has not left this page. */

import { el, setText, show } from "./parts/dom.js";
import { allow, button } from "./parts/widgets.js";
import { reasonOf } from "./text/refusal.js";

/**
 * The question, while there is one.
 * @param {import("./main.js").App} app
 */
export function createConsent(app) {
  const { t } = app;
  const said = el("span", { text: t("needsServer") });
  const yes = button({ text: t("sendPhoto"), onClick: send });
  const root = el("p", { class: "vv-consent", role: "status" }, said, " ", yes);
  return { root, render: () => show(root, app.needed.has(app.selection.panel)) };

  async function send() {
    allow(yes, false);
    setText(said, t("photoComing"));
    try {
      await app.share();
    } catch (error) {
      setText(said, t("photoFailed", { reason: reasonOf(error, app.language) }));
      allow(yes, true);
    }
  }
}
