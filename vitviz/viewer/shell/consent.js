/** The question whether a photo may be sent (session/consent.js), while there is one. */

import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { reasonOf } from "../text/refusal.js";

/**
 * After a no it says what came of it.
 * @param {import("../main.js").App} app
 */
export function createConsent(app) {
  const { t } = app;
  let told = ""; // of the photo that is sent
  const said = el("span");
  const yes = button({ text: t("sendPhoto"), onClick: send });
  const no = button({ text: t("keepPhoto"), onClick: keep });
  const root = el("p", { class: "vv-consent", role: "status" }, said, " ", yes, " ", no);
  return { root, render };

  function render() {
    const stays = app.consent.isRefused();
    setText(said, told || t(stays ? "photoKept" : "needsServer"));
    show(no, !stays);
    root.classList.toggle("vv-kept", stays);
    show(root, app.consent.isAsked());
  }

  function keep() {
    told = "";
    yes.focus({ preventScroll: !no.matches(":focus-visible") }); // this button goes
    app.consent.refuse();
  }

  async function send() {
    say(t("photoComing"), false);
    try {
      await app.consent.share();
    } catch (error) {
      say(t("photoFailed", { reason: reasonOf(error, app.language) }), true);
    }
  }

  function say(text, possible) {
    told = text;
    for (const one of [yes, no]) allow(one, possible);
    render();
  }
}
