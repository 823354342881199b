/** Consent question: asks whether a photo may be sent (session/consent.js), while that is to be asked. */

import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { reasonOf } from "../text/refusal.js";

/**
 * Asks with two buttons; after a no it tells the consequence, and keeps only the button that sends.
 * @param {import("../main.js").App} app
 */
export function createConsentQuestion(app) {
  const { t } = app;
  let [failure, failed] = ["", /** @type {any} */ (null)]; // why the photo could not be sent, and which
  const said = el("span");
  const yes = button({ text: t("sendPhoto"), onClick: send });
  const no = button({ text: t("keepPhoto"), onClick: keep });
  const root = el("p", { class: "vv-consent", role: "status" }, said, " ", yes, " ", no);
  return { root, render };

  function render() {
    const { isAsked, isRefused, isSending, unopened } = app.consent;
    const [stays, sending] = [isRefused(), isSending()];
    const state = stays ? "photoKept" : "needsServer";
    const name = unopened()?.name;
    if (failed !== app.consent.photo()) failure = "";
    const question = name ? t("sendToOpen", { name }) : t(state);
    setText(said, sending ? t("photoComing") : failure || question);
    for (const choice of [yes, no]) allow(choice, !sending);
    show(no, !stays);
    root.classList.toggle("vv-kept", stays);
    show(root, isAsked());
  }

  function keep() {
    failure = "";
    yes.focus({ preventScroll: !no.matches(":focus-visible") }); // this button goes
    app.consent.refuse();
  }

  async function send() {
    failure = "";
    failed = app.consent.photo();
    try {
      await app.consent.send();
    } catch (error) {
      failure = t("photoFailed", { reason: reasonOf(error, app.language) });
    }
    render();
  }
}
