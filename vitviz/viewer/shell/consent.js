/**
 * Consent: what only the host can do is asked for before a photo is sent that has not left this page. A no
 * stands for the photo, and can be taken back.
 */

import { el, setText, show } from "../parts/dom.js";
import { allow, button } from "../parts/widgets.js";
import { reasonOf } from "../text/refusal.js";

/**
 * The question, while there is one; after a no what came of it.
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
    const stays = app.staysHere();
    setText(said, told || t(stays ? "photoKept" : "needsServer"));
    show(no, !stays);
    root.classList.toggle("vv-kept", stays);
    show(root, app.needed.has(app.selection.panel));
  }

  function keep() {
    told = "";
    yes.focus({ preventScroll: !no.matches(":focus-visible") }); // this button goes
    app.keepHere();
  }

  async function send() {
    say(t("photoComing"), false);
    try {
      await app.share();
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
