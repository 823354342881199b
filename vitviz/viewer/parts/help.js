/** The help page: every key and gesture, in a dialog that Escape closes. */

import { el } from "./dom.js";
import { createDialog } from "./dialog.js";

/**
 * @param {(key: string) => string} t
 * @returns {HTMLDialogElement}
 */
export function createHelp(t) {
  const keys = (...names) => el("dt", {}, ...names.map((name) => el("kbd", { text: name })));
  const row = (term, text) => [term, el("dd", { text })];
  const named = (key) => row(el("dt", { text: t(key + "_name") }), t(key));
  return createDialog(
    t,
    t("helpTitle"),
    "vv-help",
    el("h4", { text: t("helpStage") }),
    el(
      "dl",
      {},
      ...row(keys("←", "↑", "→", "↓"), t("key_arrows")),
      ...row(keys("Home"), t("key_home")),
      ...row(keys("Shift+←", "Shift+→"), t("key_point")),
      ...row(keys("Enter"), t("key_enter")),
      ...row(keys("Esc"), t("key_escape")),
    ),
    el("h4", { text: t("helpAnywhere") }),
    el(
      "dl",
      {},
      ...row(keys("[", "]"), t("key_layer")),
      ...row(keys(",", "."), t("key_head")),
      ...row(keys("m"), t("key_mean")),
      ...row(keys("d"), t("key_direction")),
      ...row(keys("b"), t("key_beside")),
      ...row(keys("x"), t("key_before")),
      ...row(keys("Ctrl+Z", "Ctrl+Shift+Z"), t("key_undo")),
      ...row(keys("?"), t("key_help")),
    ),
    el("h4", { text: t("helpProjector") }),
    el(
      "dl",
      {},
      ...row(keys("f"), t("toolTitle_freeze")),
      ...row(keys("w"), t("toolTitle_pen")),
      ...row(keys("v"), t("toolTitle_cover")),
    ),
    el("h4", { text: t("helpPointer") }),
    el("dl", {}, ...named("pointer_hover"), ...named("pointer_click"), ...named("pointer_drag")),
  );
}
