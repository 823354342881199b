/**
 * Photo choice: a button for a photo of one's own, and a place to drop one. The photo then stands among the
 * others.
 */

import { el, setText, show } from "./dom.js";
import { fileField, photoAmong, takesDrops } from "./drops.js";
import { reasonOf } from "../text/refusal.js";
import { button } from "./widgets.js";

/**
 * @param {import("../main.js").App} app
 * @param {(key: string) => void} onPhoto  of the photo that was sent
 * @returns {null|{root: HTMLElement, note: HTMLElement, takesDrops: (node: HTMLElement) => HTMLElement}}
 *   null where the host takes none
 */
export function createPhotoChoice(app, onPhoto) {
  const { t } = app;
  const { send } = app.comparisons;
  if (!send) return null;
  const input = fileField("image/*", ([file]) => take(file));
  const open = button({ text: t("photoOwn"), title: t("photoOwnTitle"), onClick: () => input.click() });
  const note = el("p", { class: "vv-note", role: "status", hidden: true });
  let turn = 0;
  return {
    root: el("span", {}, open, input),
    note,
    takesDrops: (node) => takesDrops(node, (files) => take(photoAmong(files), files.length)),
  };

  /** @param {File} file @param {number} [count]  of the files that came with it, and itself */
  async function take(file, count = 1) {
    if (!file) return;
    const mine = ++turn;
    say(t("photoComing"));
    try {
      const key = await send(file);
      if (mine !== turn) return;
      say(count > 1 ? t("photoOnly", { name: file.name, count }) : "");
      onPhoto(key);
    } catch (error) {
      if (mine === turn) say(t("photoFailed", { reason: reasonOf(error, app.language) }));
    }
  }

  function say(text) {
    setText(note, text);
    show(note, text !== "");
  }
}
